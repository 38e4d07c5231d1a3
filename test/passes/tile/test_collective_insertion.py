"""The unit test of the passes' description, and what must not change."""

from __future__ import annotations

import pytest

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import tile
from tessera_tools.dialects.tile.collectives import AllGather, AllReduce, Collective
from tessera_tools.ir.core import Operation
from tessera_tools.ir.printing import print_op
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pass

LISTING = """
func @distributed_matmul(%A: memref<128x64xbf16> {sharding = "tensor_parallel"},
                        %B: memref<64x128xbf16>) -> memref<128x128xf32> {
  %C = tile.alloc_register : memref<128x128xf32, 5>
  %result = tile.mma %A, %B, %C : memref<128x64xbf16>, memref<64x128xbf16>, memref<128x128xf32, 5>
    -> memref<128x128xf32, 5>
  return %result : memref<128x128xf32, 5>
}
"""


def _inserted(text: str, options: str = "") -> Operation:
    module = parse_module(text)
    PassManager(Pipeline("builtin.module", [parse_pass(f"tile-collective-insertion{options}")])).run(module)
    return module


class TestTileIRPasses:
    """TEST(TileIRPasses, …) of the description."""

    def test_collective_insertion(self) -> None:
        """CollectiveInsertion: A is cut along K, so that every rank has summands of the product."""
        module = _inserted(LISTING)
        (found,) = [op for op in module.walk() if isinstance(op, AllReduce)]
        assert found.mesh_axis.value == "tensor_parallel"
        assert found.reduction_kind.value == "sum"
        (product,) = [op for op in module.walk() if isinstance(op, tile.Mma)]
        assert found.source is product.res


def test_the_mesh_says_what_a_rank_has() -> None:
    module = _inserted(LISTING, "{mesh=tensor_parallel=4}")
    (product,) = [op for op in module.walk() if isinstance(op, tile.Mma)]
    assert [str(t) for t in product.operand_types] == [
        "memref<128x16xbf16>",
        "memref<16x128xbf16>",
        "memref<128x128xf32, 5>",
    ]


def test_the_listing_gathers_a_right_operand() -> None:
    text = LISTING.replace(' {sharding = "tensor_parallel"}', "").replace(
        "%B: memref<64x128xbf16>", '%B: memref<64x128xbf16> {sharding = "tensor_parallel"}'
    )
    module = _inserted(text, "{mesh=tensor_parallel=4}")
    (found,) = [op for op in module.walk() if isinstance(op, Collective)]
    assert isinstance(found, AllGather)
    assert [str(found.source.type), str(found.res.type)] == ["memref<16x128xbf16>", "memref<64x128xbf16>"]


def test_a_second_run_changes_nothing() -> None:
    module = _inserted(LISTING)
    before = print_op(module)
    PassManager(Pipeline("builtin.module", [parse_pass("tile-collective-insertion")])).run(module)
    assert print_op(module) == before


def test_a_module_where_nothing_is_cut_is_not_touched() -> None:
    text = LISTING.replace(' {sharding = "tensor_parallel"}', "")
    module = parse_module(text)
    before = print_op(module)
    PassManager(
        Pipeline("builtin.module", [parse_pass("tile-collective-insertion{mesh=tensor_parallel=4}")])
    ).run(module)
    assert print_op(module) == before


@pytest.mark.parametrize("mesh", ["tensor_parallel", "tensor_parallel=0", "a=2,a=3", "tensor_parallel=x"])
def test_a_mesh_that_is_none_is_refused(mesh: str) -> None:
    with pytest.raises(DiagnosticError, match="option 'mesh'"):
        _inserted(LISTING, f"{{mesh={{{mesh}}}}}" if "," in mesh else f"{{mesh={mesh}}}")
