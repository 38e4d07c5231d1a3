"""Every op of the stages that convert-tileas-to-llvm reads has its lowering, or a reason why not; and every atom of the
table an op that emits it."""

import pytest

from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.dialects.atoms import COPIES, PRODUCT_EMITTERS, PRODUCTS
from tessera_tools.ir.registry import Registry
from tessera_tools.ir.traits import Terminator
from tessera_tools.passes.llvm.convert_tileas_to_llvm import LOWERINGS
from tessera_tools.passes.llvm.lowering import REFUSALS

OPS = {**nv_tileaa.DIALECT.ops, **nv_tileas.DIALECT.ops}


@pytest.mark.parametrize("name", OPS)
def test_an_op_is_lowered_or_refused(name: str) -> None:
    by_its_parent = any(isinstance(trait, Terminator) for trait in OPS[name].traits)
    assert (name in LOWERINGS) + (name in REFUSALS) + by_its_parent == 1


def test_there_is_no_lowering_of_an_op_that_is_not_there() -> None:
    of_the_stages = [
        name for name in (*LOWERINGS, *REFUSALS) if name.startswith(("nv_tileaa.", "nv_tileas."))
    ]
    assert [name for name in of_the_stages if name not in OPS] == []


def test_every_atom_has_an_op_that_emits_it() -> None:
    emitters = [name for row in COPIES.values() for name in row.emitters]
    emitters += [name for row in PRODUCTS for name in PRODUCT_EMITTERS[row.primitive]]
    assert [name for name in emitters if name not in OPS] == []


def test_a_second_entry_is_refused() -> None:
    registry: Registry[int] = Registry("lowering")
    registry["nv_tileas.dot"] = 1
    with pytest.raises(ValueError, match=r"'nv_tileas.dot' has a lowering already: 1; found another: 2"):
        registry["nv_tileas.dot"] = 2
