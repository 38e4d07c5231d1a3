"""Printing what was parsed and parsing what was printed is the identity, for random IR of every registered op."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from property.random_ir import OLDER, Generator
from property.random_values import RandomValues
from structural import difference

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.ir.core import Operation, UnregisteredOp
from tessera_tools.ir.printing import print_op
from tessera_tools.ir.verifier import verify
from tessera_tools.opdef.dialect import all_dialects, find_dialect
from tessera_tools.opdef.registry import DIALECT_MODULES
from tessera_tools.parser import parse_attribute, parse_module, parse_type

LOOSE = {
    "cuda_tile.if": "arguments of its regions",
    "irdl.attributes": "attributes beside its own, which MLIR prints but does not read",
    "irdl.dialect": "arguments of its region",
    "irdl.region": "arguments that are not constrained",
    "gpu.func": "how many attributions there are is always written",
    "llvm.call": "a symbol reference of several parts, a type that the callee's type tells",
    "llvm.func": "attributes that stand beside the arguments",
    "llvm.intr.assume": "a list of no bundle tags",
    "llvm.getelementptr": "flags that do not exist",
    "llvm.switch": "cases held as a tensor, not a vector",
    "memref.expand_shape": "operands beside a static output shape",
    "nvvm.mma.sync": "registers of one matrix with different types",
    "scf.forall.in_parallel": "arguments of its region",
    "vector.transfer_read": "a mask of another type than the vector tells",
    "vector.transfer_write": "a mask of another type than the vector tells",
}
"""Ops whose verifier lets through what their own format cannot say: only their generic form must come back."""

SEEDS = range(3)


def assert_round_trip(module: Operation, *, custom: bool = True) -> None:
    """Custom and generic text, each read back and printed again, is the same text and the same IR."""
    for generic in (False, True) if custom else (True,):
        text = print_op(module, generic=generic)
        again = parse_module(text, allow_unregistered=True)
        assert print_op(again, generic=generic) == text
        assert difference(module, again) is None, text


def read_files() -> list[tuple[str, Operation]]:
    """The programs of the tests and examples that are valid, with their names."""
    root = Path(__file__).parent.parent
    found: list[tuple[str, Operation]] = []
    for path in sorted([*root.rglob("*.mlir"), *(root.parent / "examples").rglob("*.mlir")]):
        for number, chunk in enumerate(path.read_text("utf-8").split("// -----")):
            try:
                module = parse_module(chunk, allow_unregistered=True)
            except DiagnosticError:
                continue  # a test of what is refused
            if not verify(module):
                found.append((f"{path.parent.name}/{path.name} #{number}", module))
    return found


@cache
def made() -> dict[str, list[Operation]]:
    """Of every registered op: a module for each seed whose choices verified."""
    found: dict[str, list[Operation]] = {}
    generators = [Generator(seed) for seed in SEEDS]
    for dialect in all_dialects():
        for name in sorted(dialect.ops.keys() - OLDER):
            attempts = [g.module([name], tries=60) for g in generators]
            found[name] = [module for module, missing in attempts if not missing]
    return found


@pytest.mark.parametrize("dialect_name", sorted(DIALECT_MODULES))
def test_random_ops_round_trip(dialect_name: str) -> None:
    dialect = find_dialect(dialect_name)
    assert dialect is not None
    for name in dialect.ops:
        for module in made().get(name, ()):
            assert_round_trip(module, custom=name not in LOOSE)


def test_programs_of_the_tests_round_trip() -> None:
    for name, module in read_files():
        try:
            assert_round_trip(module)
        except AssertionError as failure:
            raise AssertionError(f"{name}: {failure}") from None


def test_every_op_is_either_made_at_random_or_in_a_program_of_the_tests() -> None:
    inside = {
        op.name for _, module in read_files() for op in module.walk() if not isinstance(op, UnregisteredOp)
    }
    unmade = sorted(name for name, modules in made().items() if not modules)
    untried = [name for name in unmade if name not in inside]
    print(f"not made at random: {', '.join(unmade)}\nin no test at all: {', '.join(untried) or 'none'}")
    # A new op shifts the random choices for those behind it, so that a few come and go.
    assert len(unmade) <= 141, len(unmade)
    assert len(untried) <= 7, untried


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), data=st.data())
def test_random_modules_round_trip(seed: int, data: st.DataObject) -> None:
    names = [name for name, modules in made().items() if modules and name not in LOOSE]
    chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=10))
    module, _ = Generator(seed).module(chosen, tries=10)
    assert_round_trip(module)


@settings(max_examples=400)
@given(seed=st.integers(0, 2**32 - 1))
def test_random_types_round_trip(seed: int) -> None:
    type = RandomValues(seed).type()
    assert parse_type(str(type)) is type, str(type)


@settings(max_examples=600)
@given(seed=st.integers(0, 2**32 - 1))
def test_random_attributes_round_trip(seed: int) -> None:
    attribute = RandomValues(seed).attribute()
    assert parse_attribute(str(attribute)) is attribute, str(attribute)
