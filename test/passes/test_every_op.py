"""Every op of a stage has its lowering to the next one, or a stated reason why not; every atom of the table has an op
that emits it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tessera_tools.dialects import arith, cuda_tile, func, math, nv_tileaa, nv_tileas, scf, tile
from tessera_tools.dialects.atoms import COPIES, PRODUCT_PRIMITIVES, PRODUCTS, CopyPrimitive
from tessera_tools.ir.registry import Registry
from tessera_tools.ir.rewriter import PatternSet
from tessera_tools.ir.traits import Terminator
from tessera_tools.passes.builtin.canonicalize import canonicalization_patterns
from tessera_tools.passes.llvm import lowering as of_llvm
from tessera_tools.passes.llvm.lowering import EMITTED, FAMILIES, REFUSALS, all_lowerings
from tessera_tools.passes.tile import lowering as of_tile
from tessera_tools.passes.tile.convert_tile_to_tileas import HANDLERS as OF_TILE
from tessera_tools.passes.tileaa import lowering as of_cuda_tile
from tessera_tools.passes.tileaa.convert_cuda_tile_to_tileaa import HANDLERS as OF_CUDA_TILE

LOWERINGS = all_lowerings()
STAGES: Mapping[str, tuple[tuple[Any, ...], Mapping[str, Any], Mapping[str, str]]] = {
    "convert-cuda-tile-to-tileaa": ((cuda_tile,), OF_CUDA_TILE, of_cuda_tile.REFUSALS),
    "convert-tile-to-tileas": ((tile,), OF_TILE, of_tile.REFUSALS),
    "convert-tileas-to-llvm": ((nv_tileaa, nv_tileas, arith, math, scf, func), LOWERINGS, REFUSALS),
}
"""Pass → the dialects of which no op may remain behind it, what lowers their ops, and what refuses them."""


def ops_of(dialects: tuple[Any, ...]) -> dict[str, Any]:
    """Op name → class, of the dialects' own ops."""
    return {
        name: op
        for dialect in dialects
        for name, op in dialect.DIALECT.ops.items()
        if name.startswith(dialect.DIALECT.name + ".")
    }


OPS_OF_ATOMS = ops_of((nv_tileaa, nv_tileas))
CASES = [(stage, name) for stage, (dialects, _, _) in STAGES.items() for name in ops_of(dialects)]


@pytest.mark.parametrize(("stage", "name"), CASES)
def test_an_op_is_lowered_or_refused(stage: str, name: str) -> None:
    dialects, lowered, refused = STAGES[stage]
    by_its_parent = any(isinstance(trait, Terminator) for trait in ops_of(dialects)[name].traits)
    assert (name in lowered) + (name in refused) + by_its_parent == 1


@pytest.mark.parametrize("stage", STAGES)
def test_there_is_no_lowering_of_an_op_that_is_not_there(stage: str) -> None:
    dialects, lowered, refused = STAGES[stage]
    prefixes = tuple(f"{dialect.DIALECT.name}." for dialect in dialects)
    names = [name for name in (*lowered, *refused) if name.startswith(prefixes)]
    assert [name for name in names if name not in ops_of(dialects)] == []


ATOMS = {**COPIES, **PRODUCT_PRIMITIVES}


@pytest.mark.parametrize("name", ATOMS)
def test_every_atom_is_emitted_and_has_layouts(name: str) -> None:
    row = ATOMS[name]
    for emitter in row.emitters:
        assert emitter in OPS_OF_ATOMS, f"{name} is emitted by '{emitter}', which is no op"
        assert emitter in LOWERINGS or emitter in REFUSALS, f"{name}: '{emitter}' has no lowering"
    assert any(emitter in LOWERINGS for emitter in row.emitters), f"{name} is emitted by nothing"
    for emitter in row.emitters:
        if emitter in LOWERINGS:
            has = EMITTED.get(LOWERINGS[emitter], ())
            assert name in has, (
                f"the lowering of '{emitter}' has no code for {name}; if it has, say so with @emits"
            )
    if isinstance(row, CopyPrimitive):
        found = [what for what in (row.threads, row.access, row.memory) if what is not None]
        assert len(found) == 1, f"{name} says in {len(found)} ways which layouts it has"


def test_no_lowering_emits_what_is_not_in_the_table() -> None:
    for name, lowering in LOWERINGS.items():
        for word in EMITTED.get(lowering, ()):
            assert word in ATOMS, (
                f"the lowering of '{name}' emits {word}, which dialects/atoms.py does not have"
            )


def test_every_instruction_is_of_a_primitive() -> None:
    assert {row.primitive for row in PRODUCTS} == set(PRODUCT_PRIMITIVES)


def test_a_second_entry_is_refused() -> None:
    registry: Registry[int] = Registry("lowering")
    registry["nv_tileas.dot"] = 1
    with pytest.raises(ValueError, match=r"'nv_tileas.dot' already has a lowering: 1; found another: 2"):
        registry["nv_tileas.dot"] = 2


def test_no_pattern_is_tried_twice() -> None:
    patterns = list(canonicalization_patterns())
    PatternSet(patterns)
    with pytest.raises(ValueError, match="is listed twice"):
        PatternSet([*patterns, type(patterns[0])()])


def test_every_module_with_lowerings_is_a_family() -> None:
    folder = Path(of_llvm.__file__).parent
    found = {path.stem for path in folder.glob("*.py") if "\n@lowers(" in path.read_text()}
    assert found - {"lowering"} == set(FAMILIES)


def test_ops_of_llvm_are_copied_and_have_no_lowering() -> None:
    assert not [name for name in LOWERINGS if name.startswith(("llvm.", "nvvm."))]
