"""What upstream's mlir-opt writes, we read; what we write, it reads: the same module, attributes and locations too."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from run_cache import once_in_a_run

from oracles import require_tool
from tessera_tools.cli.round_trip import forget_names
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.ir import builtin_attributes as ba
from tessera_tools.ir import types as ty
from tessera_tools.ir.affine import AffineMap
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.core import Operation, UnregisteredOp
from tessera_tools.ir.printing import print_op
from tessera_tools.ir.resources import External
from tessera_tools.mlir_bytecode import read_mlir_bytecode, write_mlir_bytecode
from tessera_tools.mlir_bytecode.properties import UPSTREAM
from tessera_tools.opdef.dialect import find_dialect
from tessera_tools.parser import parse_attribute, parse_module
from tessera_tools.parser.source import split_input

DIALECTS = Path(__file__).parents[1] / "dialects"
FILES = sorted(
    path
    for path in DIALECTS.rglob("*.mlir")
    if path.relative_to(DIALECTS).parts[0] in UPSTREAM and "invalid" not in path.name
)
VERSIONS = (6, 5, 4, 3, 2, 1, 0)


@once_in_a_run
def mlir_opt(data: bytes, *options: str) -> bytes | None:
    """What mlir-opt writes to stdout; None if it refuses the input."""
    command = [require_tool("mlir-opt-22"), "--allow-unregistered-dialect", *options]
    done = subprocess.run(command, input=data, capture_output=True, timeout=60)
    return None if done.returncode else done.stdout


def shown(data: bytes) -> bytes | None:
    """The module in mlir-opt's generic form, with locations."""
    return mlir_opt(data, "--mlir-print-op-generic", "--mlir-print-debuginfo")


def without_names(module: Operation) -> str:
    """The generic text; names of values and blocks are not in bytecode."""
    forget_names(module)
    numbers: dict[str, int] = {}
    # The numbers of distinct attributes follow the order in which they are printed.
    return re.sub(
        r"(?<=\bdistinct\[)\d+",
        lambda found: str(numbers.setdefault(found[0], len(numbers))),
        print_op(module, generic=True, debuginfo=True),
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(DIALECTS)))
def test_upstream_dialects(path: Path) -> None:
    compared = 0
    for number, chunk in enumerate(split_input(path.read_text())):
        version = VERSIONS[number % len(VERSIONS)] if number else 6
        theirs = mlir_opt(chunk.text.encode(), "--emit-bytecode", f"--emit-bytecode-version={version}")
        text = shown(theirs) if theirs is not None else None
        if theirs is None or text is None:
            continue
        if b"\0test\0" in theirs:
            continue  # the dialect of upstream's own tests, which has a version
        try:
            expected = parse_module(text, "-", allow_unregistered=True)
        except DiagnosticError:
            continue
        module = read_mlir_bytecode(theirs, "-", allow_unregistered=True, verify=False)
        if version >= 5 or not any(isinstance(op, UnregisteredOp) for op in module.walk()):
            # Older versions merge the properties of unregistered ops with their attributes.
            assert without_names(module) == without_names(expected)
        assert shown(write_mlir_bytecode(module)) == shown(write_mlir_bytecode(expected)) is not None
        if version == 6:
            assert shown(write_mlir_bytecode(module)) == text
        compared += 1
    assert compared or path.name in (
        "attributes.mlir", "implicit-bounds.mlir", "implicit-unregistered.mlir", "literals.mlir"
    )  # fmt: skip


WRITTEN = (
    "!llvm.func<void ()>",
    "#nvvm.shape<m = 16, n = 8, k = 8>",
    "#nvvm.ld_st_matrix_shape<m = 8, n = 8>",
    "#llvm.alias_scope<id = distinct[0]<>, domain = <id = distinct[1]<>>>",
    "#irdl<variadicity_array[ single]>",
    '[#gpu.object<#nvvm.target, "x">]',
)


def _samples() -> list[Attribute]:
    """Attributes of many kinds, and the defaults of all declared ops."""
    map_ = ba.AffineMapAttr(AffineMap.identity(1))
    elements: list[Attribute] = [
        ba.i64(1),
        ba.TRUE,
        ba.StringAttr("x"),
        ba.DictionaryAttr(()),
        ba.SymbolRefAttr("f"),
    ]
    arrays = [(), *((element,) for element in (*elements, map_, ba.ArrayAttr((ba.i64(0),))))]
    defaults = [
        field.default
        for dialect in sorted(UPSTREAM)
        for op in _dialect(dialect).ops.values()
        for field in op.definition.attributes
        if field.default is not None
    ]
    words = [
        # The first and the last word may be our own, for what is absent.
        cls(cls.cases[len(cls.cases) // 2])
        for dialect in sorted(UPSTREAM)
        for cls in _dialect(dialect).attributes.values()
        if getattr(cls, "cases", ())
    ]
    return [
        ba.UNIT, *elements, ba.i32(1), ba.index(1), *(ba.IntegerAttr(1, ty.IntegerType(w)) for w in (8, 16)),
        ba.TypeAttr(ty.I32), ba.TypeAttr(ty.FunctionType((), ())), map_, *map(ba.ArrayAttr, arrays),
        *(ba.DenseArrayAttr(t, (1,) * n) for t in (ty.I32, ty.I64, ty.I1) for n in (1, 3)),
        ba.DenseElementsAttr.of(ty.RankedTensorType((1,), ty.I32), [1]), ba.FloatAttr.of(0.5, ty.F64),
        *map(parse_attribute, WRITTEN), *words, *defaults,
    ]  # fmt: skip


def _dialect(name: str) -> Any:
    return find_dialect(name)


def _with_all_attributes() -> tuple[list[str], list[str]]:
    """The generic form of every declared op, without operands, with an attribute for each field of which there is a
    sample; and the required fields without one."""
    samples = _samples()
    lines: list[str] = []
    missing: list[str] = []
    for dialect in sorted(UPSTREAM):
        for name, op in _dialect(dialect).ops.items():
            found = {}
            for field in op.definition.attributes:
                value = next((value for value in samples if field.kind.check(value)), None)
                if value is not None and field.key in op.inherent_attributes:
                    found[field.key] = value
                elif value is None and field.arity == "single":
                    missing.append(f"{name} {field.key}")
            if found and not any(entry.startswith(f"{name} ") for entry in missing):
                lines.append(f'"{name}"() <{ba.dictionary_text(sorted(found.items()))}> : () -> ()')
    return lines, missing


def shown_attributes(op: Operation) -> dict[str, str]:
    """The attributes as text, without the numbers of distinct ones."""
    return {key: re.sub(r"distinct\[\d+\]", "distinct", str(value)) for key, value in op.attributes.items()}


@pytest.mark.parametrize("version", [5, 6])
def test_the_properties_of_all_declared_ops(version: int) -> None:
    """They are encoded in an order and form that upstream derives from its declarations, and we from ours."""
    unverified = ("--mlir-very-unsafe-disable-verifier-on-parsing", "--verify-each=false")
    lines, missing = _with_all_attributes()
    assert not missing
    theirs = mlir_opt(
        "\n".join(lines).encode(), *unverified, "--emit-bytecode", f"--emit-bytecode-version={version}"
    )
    assert theirs is not None
    text = mlir_opt(theirs, *unverified, "--mlir-print-op-generic")
    assert text is not None
    module = read_mlir_bytecode(theirs, "-", verify=False)
    expected = parse_module(text)
    for found, wanted in zip(module.walk(), expected.walk(), strict=True):
        assert found.name == wanted.name
        assert shown_attributes(found) == shown_attributes(wanted)
    ours = write_mlir_bytecode(module, version)
    assert mlir_opt(ours, *unverified, "--mlir-print-op-generic") == text


def test_own_dialects_are_unregistered_ops_for_upstream() -> None:
    module = parse_module(
        """
        func.func @f(%a: !cuda_tile.tile<4xf32>) -> !cuda_tile.tile<4xf32> {
          %0 = "cuda_tile.addf"(%a, %a) <{rounding_mode = #cuda_tile.rounding<nearest_even>}>
            : (!cuda_tile.tile<4xf32>, !cuda_tile.tile<4xf32>) -> !cuda_tile.tile<4xf32>
          return %0 : !cuda_tile.tile<4xf32>
        }
        """
    )
    text = mlir_opt(write_mlir_bytecode(module), "--mlir-print-op-generic")
    assert text is not None
    assert b'"cuda_tile.addf"(%arg0, %arg0) <{rounding_mode = #cuda_tile.rounding<nearest_even>}>' in text


def test_upstream_keeps_our_order_of_uses() -> None:
    module = parse_module(
        "\n".join(['%0 = "t.a"() : () -> i32', *(f'"t.use{n}"(%0) : (i32) -> ()' for n in range(9))]),
        allow_unregistered=True,
    )
    value = module.regions[0].block.first_op.results[0]  # type: ignore[union-attr]
    uses = list(value.uses)
    for place, use in enumerate([uses[n] for n in (3, 4, 0, 1, 2, 8, 7, 6, 5)]):
        if place:
            use.set(value)
    expected = [use.owner.name for use in value.uses]
    theirs = mlir_opt(write_mlir_bytecode(module), "--emit-bytecode")
    assert theirs is not None
    again = read_mlir_bytecode(theirs, allow_unregistered=True)
    found = again.regions[0].block.first_op.results[0]  # type: ignore[union-attr]
    assert [use.owner.name for use in found.uses] == expected


def test_upstream_reads_our_resources() -> None:
    module = parse_module(
        '"t.op"() {a = dense_resource<k> : tensor<1xi64>} : () -> ()\n'
        '{-# dialect_resources: { builtin: { k: "0x080000000102030405060708" } } #-}\n',
        allow_unregistered=True,
    )
    text = mlir_opt(write_mlir_bytecode(module))
    assert text is not None
    assert b'k: "0x080000000102030405060708"' in text


def test_debug_information_of_upstream() -> None:
    """Its own encoding, with `distinct` attributes that several others share."""
    source = b"""
    #file = #llvm.di_file<"k.c" in "/src">
    #unit = #llvm.di_compile_unit<id = distinct[0]<>, sourceLanguage = DW_LANG_C, file = #file, isOptimized = true,
                                  emissionKind = Full>
    #f = #llvm.di_subprogram<id = distinct[1]<>, compileUnit = #unit, scope = #file, name = "f", file = #file, line = 1,
                             scopeLine = 1, subprogramFlags = Definition>
    #g = #llvm.di_subprogram<id = distinct[2]<>, compileUnit = #unit, scope = #file, name = "g", file = #file, line = 2,
                             scopeLine = 2, subprogramFlags = "LocalToUnit|Definition">
    llvm.func @f() { llvm.return } loc(fused<#f>["k.c":1:1])
    llvm.func @g() { llvm.return } loc(fused<#g>["k.c":2:1])
    """
    data = mlir_opt(source, "--emit-bytecode")
    assert data is not None
    module = read_mlir_bytecode(data)
    f, g = (op.location.metadata for op in module.regions[0].block)  # type: ignore[attr-defined]
    assert f.compileUnit is g.compileUnit
    assert (f.subprogramFlags, g.subprogramFlags) == ("Definition", "LocalToUnit|Definition")
    assert shown(write_mlir_bytecode(module)) == shown(data)


EXTERNAL = """\
module {
}

{-#
  external_resources: {
    tool: {
      flag: true,
      off: false,
      text: "some text",
      blob: "0x0800000001020304"
    },
    other: {
      text: "some text"
    }
  }
#-}
"""


def test_the_resources_of_other_tools_pass_between_us_and_upstream() -> None:
    external: External = {}
    module = parse_module(EXTERNAL, external=external)
    ours = write_mlir_bytecode(module, external=external)
    text = mlir_opt(ours)
    assert text is not None and text.decode().strip() == EXTERNAL.strip()
    theirs = mlir_opt(EXTERNAL.encode(), "--emit-bytecode")
    assert theirs is not None
    again: External = {}
    read = read_mlir_bytecode(theirs, external=again)
    assert again == external
    assert print_op(read, external=again) == EXTERNAL
