"""The signatures of the language for editors and type checkers, generated from the declarations of the ops.

    python -m tessera_tools.dsl.stubs          rewrites tessera_tools/dsl/__init__.pyi

Annotations of a kernel are objects of this package, which no type checker can read as types. The stub declares them
as classes instead, so that `x: ptr[f32]` is a tile, with the methods of a tile.
"""

from __future__ import annotations

import inspect
import json
import os
from pathlib import Path

import tessera_tools.dsl as dsl
from tessera_tools.dialects.cuda_tile.attributes import OptimizationHintsAttr
from tessera_tools.dialects.cuda_tile.types import (
    FLOATS,
    INTEGERS,
    TOKEN,
    PartitionViewType,
    PointerType,
    TensorViewType,
    TileType,
)
from tessera_tools.dsl import ops
from tessera_tools.dsl.types import dtypes
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import UNIT, DenseArrayAttr, IntegerAttr, StringAttr, SymbolRefAttr
from tessera_tools.ir.types import F32, I1, I32, I64, bit_width
from tessera_tools.opdef import Op
from tessera_tools.opdef.attribute_kinds import EnumAttr
from tessera_tools.opdef.constraints import TypeConstraint
from tessera_tools.opdef.fields import AttributeField, OperandField, ResultField

__all__ = ["COMMAND", "FILE", "stub", "write"]

COMMAND = "python -m tessera_tools.dsl.stubs"
FILE = Path(__file__).with_name("__init__.pyi")

_HEAD = '''\
"""Kernels in Python: docs/dsl.md."""

# Generated from the declarations of the ops by `{command}`.

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, SupportsAbs, TypeAlias, TypeVar, overload

{imports}

# An operand of an op: a number is a constant of the type of the other operands.
_Number: TypeAlias = bool | int | float
# The type of a result: a type, an element type, a shape, or MLIR text.
_Type: TypeAlias = _TypeLike | Sequence[int]
_T = TypeVar("_T")
{words}

__all__ = {names}

class _Scalar(Tile):
    """An element type: as an annotation, a number; called, the conversion of a tile to it."""

    def __init__(self, value: Tile | _Number = ...) -> None: ...
    @staticmethod
    def multiple_of(divisor: int) -> type[_Scalar]:
        """The annotation of a number that the caller guarantees to be a multiple of `divisor`, a power of two."""

{dtypes}

class ptr(Tile):
    """`ptr[f16]`: the address of elements in global memory."""

    def __class_getitem__(cls, element: type[_Scalar]) -> type[ptr]: ...
    @staticmethod
    def aligned(alignment: int) -> type[ptr]:
        """A pointer whose address is a multiple of `alignment` bytes."""

class tile(Tile):
    """`tile[128, 64, f16]`: a tile of 128 by 64 elements; `tile[f16]`: one element."""

    def __class_getitem__(cls, parts: type[Tile] | tuple[int | type[Tile], ...]) -> type[tile]: ...

class array(Array):
    """`array[f16, 2]`: a matrix, passed as a pointer, two extents and two strides."""

    def __class_getitem__(cls, parts: type[_Scalar] | tuple[type[_Scalar], int]) -> type[array]: ...
    @staticmethod
    def aligned(alignment: int) -> type[array]:
        """Address, rows and last extent are multiples of `alignment` bytes."""
    class strided(Array):
        """The same array type, of any strides."""

        @staticmethod
        def aligned(alignment: int) -> type[array]: ...

# The annotation of a parameter whose value is known when the kernel is compiled.
constexpr: TypeAlias = Any

# In a kernel, these names of Python are functions of the language.

@overload
def abs(x: Tile, /) -> Tile: ...
@overload
def abs(x: SupportsAbs[_T], /) -> _T: ...
@overload
def max(x: Tile, *, axis: int | None = ..., keep_dims: bool = ...) -> Tile:
    """The greatest element along an axis, or of all."""
@overload
def max(x: Tile | _Number, y: Tile, /, *others: Tile | _Number) -> Tile: ...
@overload
def max(x: Tile, y: _Number, /, *others: Tile | _Number) -> Tile: ...
@overload
def max(x: Iterable[_T], /, *, key: Callable[[_T], object] | None = ..., default: _T = ...) -> _T: ...
@overload
def max(x: _T, y: _T, /, *others: _T, key: Callable[[_T], object] | None = ...) -> _T: ...
@overload
def min(x: Tile, *, axis: int | None = ..., keep_dims: bool = ...) -> Tile:
    """The least element along an axis, or of all."""
@overload
def min(x: Tile | _Number, y: Tile, /, *others: Tile | _Number) -> Tile: ...
@overload
def min(x: Tile, y: _Number, /, *others: Tile | _Number) -> Tile: ...
@overload
def min(x: Iterable[_T], /, *, key: Callable[[_T], object] | None = ..., default: _T = ...) -> _T: ...
@overload
def min(x: _T, y: _T, /, *others: _T, key: Callable[[_T], object] | None = ...) -> _T: ...
@overload
def sum(x: Tile, axis: int | None = ..., keep_dims: bool = ...) -> Tile:
    """The sum of the elements along an axis, or of all. keep_dims: the axis stays, with extent 1."""
@overload
def sum(x: Iterable[_T], /, start: _T = ...) -> _T: ...
@overload
def range(stop: int, /) -> Sequence[int]: ...
@overload
def range(start: int, stop: int, step: int = ..., /) -> Sequence[int]: ...
@overload
def range(stop: Tile, /) -> Sequence[Tile]: ...
@overload
def range(start: Tile, stop: Tile | int, step: Tile | int = ..., /) -> Sequence[Tile]: ...
@overload
def range(start: Tile | int, stop: Tile, step: Tile | int = ..., /) -> Sequence[Tile]: ...
@overload
def range(start: Tile | int, stop: Tile | int, step: Tile, /) -> Sequence[Tile]:
    """The numbers of a loop of the kernel, as Python's `range`; the step is positive."""

# The ops of cuda_tile.

'''


def stub() -> str:
    """The text of the stub."""
    public = [
        name
        for name in vars(dsl)["__all__"]
        if inspect.isroutine(value := vars(dsl).get(name)) or inspect.isclass(value)
    ]
    imports = [f"from {vars(dsl)[name].__module__} import {name} as {name}" for name in sorted(public)]
    imports.append("from tessera_tools.dsl.types import TypeLike as _TypeLike")
    imports.append("from tessera_tools.dsl.values import Token as _Token")
    declared = [*public, *dtypes, "array", "constexpr", "ptr", "tile", *_SHADOWED, *ops.names()]
    words = _words()
    head = _HEAD.format(
        words="\n".join(
            f"{name}: TypeAlias = Literal[\n    {', '.join(map(json.dumps, one))}\n]" for one, name in words
        ),
        names=json.dumps(sorted(set(declared)))
        .replace(", ", ",\n    ")
        .replace("[", "[\n    ")
        .replace("]", ",\n]"),
        command=COMMAND,
        imports="\n".join(sorted(imports)),
        dtypes="\n".join(f"class {name}(_Scalar): ..." for name in dtypes),
    )
    made = [_function(name, op) for name, op in ops.classes().items() if name not in public]
    return head + "\n".join(made) + "\n"


_SHADOWED = ("abs", "max", "min", "range", "sum")
"""Functions of Python that are others in a kernel. They are names of the stub only."""


def _words() -> list[tuple[list[str], str]]:
    """The words of each enumeration, and the name of the alias for them."""
    found: list[tuple[list[str], str]] = []
    for op in ops.classes().values():
        for field in op.definition.attributes:
            words = _words_of(field)
            if words and all(words != known for known, _ in found):
                name = "".join(part.capitalize() for part in field.name.split("_"))
                used = sum(other.startswith(f"_{name}") for _, other in found)
                found.append((words, f"_{name}{used + 1 if used else ''}"))
    return found


def _words_of(field: AttributeField[object]) -> list[str]:
    detail = field.kind.detail
    if isinstance(detail, dict):
        return [*detail]
    return [*detail.cases] if isinstance(detail, type) and issubclass(detail, EnumAttr) else []


def write() -> bool:
    """Rewrites the stub whole if it is stale; returns whether it was."""
    text = stub()
    if FILE.exists() and FILE.read_text("utf-8") == text:
        return False
    temporary = FILE.with_name(f"{FILE.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, "utf-8")
        os.replace(temporary, FILE)
    finally:
        temporary.unlink(missing_ok=True)
    return True


def _function(name: str, op: type[Op]) -> str:
    fields, positional = ops.parameters(op), ops.positional_fields(op)
    parameters: list[str] = []
    for field in positional:
        kind = _kind(field)
        optional = "" if ops.is_required(field, positional) else " | None = ..."
        parameters.append(f"{ops.python_name(field.name)}: {kind}{optional}")
    results = [f for f in op.definition.results if f.name != "result_token"]
    if results:
        parameters.append("result: _Type = ...")
    keywords = [f for f in fields if f not in positional and f.name != "token"]
    named = [f"{ops.python_name(field.name)}: {_kind(field)} | None = ..." for field in keywords]
    doc = (
        inspect.cleandoc(op.__doc__ or op.summary).splitlines()[0].replace("\\", "\\\\").replace('"""', "'''")
    )
    body = f'    """{doc}"""\n'
    answer = _answer(results)
    if len(results) == len(op.definition.results):
        return _definition(name, parameters, named, answer) + f":\n{body}"
    # With a token of the call, the op's token is among the results.
    found = [*map(_result, results), "_Token"]
    with_token = f"tuple[{', '.join(found)}]" if len(found) > 1 else "_Token"
    return (
        "@overload\n" + _definition(name, parameters, named, answer) + f":\n{body}"
        "@overload\n" + _definition(name, parameters, [*named, "token: _Token"], with_token) + ": ...\n"
    )


_WIDTH = 105


def _definition(name: str, parameters: list[str], named: list[str], answer: str) -> str:
    every = [*parameters, *(["*", *named] if named else [])]
    line = f"def {name}({', '.join(every)}) -> {answer}"
    if len(line) <= _WIDTH:
        return line
    return f"def {name}(\n" + "".join(f"    {one},\n" for one in every) + f") -> {answer}"


def _answer(results: list[ResultField[object]]) -> str:
    if not results:
        return "None"
    if results[0].arity == "variadic":
        return f"tuple[{_result(results[0])}, ...]"
    found = [_result(field) for field in results]
    return found[0] if len(found) == 1 else f"tuple[{', '.join(found)}]"


_TENSOR = TensorViewType((16, 16), F32, (16, 1))
_SAMPLES: dict[str, list[Type]] = {
    "Tile": [
        TileType(shape, element)
        for shape in ((), (16,), (16, 16), (16, 16, 16))
        for element in (*INTEGERS, *FLOATS, PointerType(F32))
        if shape or isinstance(element, PointerType) or bit_width(element) >= 8
    ],
    "View": [_TENSOR, PartitionViewType((16, 16), _TENSOR, (), None)],
    "_Token": [TOKEN],
}
"""The class of a value → types that it may have."""


def _classes(constraint: TypeConstraint) -> list[str]:
    """The classes of the values that a constraint accepts. A constraint by other fields accepts tiles."""
    try:
        found = [name for name, kinds in _SAMPLES.items() if any(map(constraint.accepts, kinds))]
    except (NotImplementedError, AttributeError, TypeError):
        found = []
    return found if len(found) in (1, 2) else ["Tile"]


def _result(field: ResultField[object]) -> str:
    return " | ".join(_classes(field.constraint))


def _kind(field: OperandField[object] | AttributeField[object]) -> str:
    if isinstance(field, OperandField):
        kinds = _classes(field.constraint)
        if "Tile" in kinds:
            kinds.append("_Number")
        each = " | ".join(kinds)
        return f"{each} | Sequence[{each}]" if field.arity == "variadic" else each
    kind = field.kind
    if words := _words_of(field):
        return next(name for one, name in _words() if one == words)
    if kind.check(UNIT):
        return "bool"
    if any(kind.check(IntegerAttr(8, width)) for width in (I32, I64)):
        return "int"
    if kind.check(DenseArrayAttr(I1, (1,))):
        return "Sequence[bool]"
    if any(kind.check(DenseArrayAttr(width, (0, 1))) for width in (I32, I64)):
        return "Sequence[int]"
    if any(map(kind.check, (StringAttr("text"), SymbolRefAttr("name", ())))):
        return "str"
    if kind.check(OptimizationHintsAttr.of({})):
        return "Mapping[str, Mapping[str, object]] | str"
    return "object"


if __name__ == "__main__":
    if write():
        print(f"wrote {FILE.name}")
