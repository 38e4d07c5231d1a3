"""The texts that a user of the page of `tessera-play` writes: arguments of a launch, and passes.

manifest, element types ──suggested──▶ "A=rand:f16:128x128", "i32:128", …
the text field ──arguments_of──▶ --arg=…, --launch=…            "--canonicalize --cse" ──read_passes──▶ Pipeline
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tessera_tools.diagnostics import DiagnosticError, error
from tessera_tools.passes.base import OptionError
from tessera_tools.passes.pipeline import Pipeline, make_pass, parse_options, parse_pipeline
from tessera_tools.runtime.arguments import BufferSpec, parse_argument
from tessera_tools.runtime.signature import Parameter, of_kernel
from tessera_tools.runtime.types import lookup_type

if TYPE_CHECKING:
    from tessera_tools.emit.manifest import Manifest
    from tessera_tools.ir.core import Operation

__all__ = ["LAUNCH", "arguments_of", "element_types", "read_passes", "suggested"]

LAUNCH = "launch.json"
"""The file of a launch in JSON."""

_MOST_LINES = 256
_SHAPES = {1: (128,), 2: (128, 128), 3: (4, 128, 64), 4: (1, 1, 128, 64)}
"""The extents of arrays that nobody chose, by rank."""
_PREFIX = re.compile(r"--?arg[= ]\s*")


def element_types(module: Operation) -> list[str]:
    """The element type of each pointer of the first kernel, in the order of the parameters; empty if it is unknown."""
    from tessera_tools.ir.types import MemRefType

    for op in module.walk():
        if op.name not in ("cuda_tile.entry", "func.func") or not op.regions[0].blocks:
            continue
        found: list[str] = []
        for argument in op.regions[0].entry.arguments:
            inner = getattr(getattr(argument.type, "element", None), "pointee", None)
            if isinstance(argument.type, MemRefType):
                inner = argument.type.element
            if inner is not None:
                found.append(str(inner))
        return found
    return []


def suggested(manifest: Manifest | None, types: Sequence[str]) -> list[str]:
    """Arguments with which the first kernel can be launched: one for each parameter, arrays with random numbers.

    A pointer and the integers after it are an array with extents and strides, as cuTile passes them, if their number is
    even after every pointer. Other integers are the extent of the arrays. Nothing else is known of what the kernel
    expects.
    """
    if manifest is None or not manifest.kernels:
        return []
    wanted = of_kernel(manifest.kernels[0]).wanted
    groups = _groups(wanted)
    expanded = all(follow and follow % 2 == 0 for first, follow in groups if first.type == "ptr")
    named = iter(types)
    found: list[str] = []
    at = 0
    for first, follow in groups:
        rest = wanted[at + 1 : at + 1 + follow]
        at += 1 + follow
        if first.type != "ptr":
            found += [_number(one) for one in (first, *rest)]
            continue
        type = lookup_type(next(named, "f32"))
        name = type.name if type is not None else "f32"
        shape = _SHAPES.get(follow // 2) if expanded else None
        found.append(f"{first.name}=rand:{name}:{'x'.join(map(str, shape or _SHAPES[2]))}")
        if shape is None:
            found += map(_number, rest)
            continue
        strides = [1]
        for extent in reversed(shape[1:]):
            strides.insert(0, strides[0] * extent)
        found += [f"{one.type}:{number}" for one, number in zip(rest, (*shape, *strides), strict=True)]
    return found


def _groups(wanted: Sequence[Parameter]) -> list[tuple[Parameter, int]]:
    """Each pointer with the number of integers that follow it; other parameters alone."""
    found: list[tuple[Parameter, int]] = []
    for parameter in wanted:
        if found and found[-1][0].type == "ptr" and parameter.type in ("i32", "i64"):
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((parameter, 0))
    return found


def _number(parameter: Parameter) -> str:
    if parameter.type == "bytes":
        return f"bytes:{'00' * parameter.size}"
    type = lookup_type(parameter.type)
    return f"{parameter.type}:{'128' if type is not None and type.kind != 'f' else '1'}"


def arguments_of(text: str, otherwise: Sequence[str]) -> list[str]:
    """The options of tessera-run for what the user wrote: one argument a line, or a launch in JSON; `otherwise` if
    there is nothing. Raises DiagnosticError for an argument that names a file."""
    if text.lstrip().startswith("{"):
        # Its files must be in the folder, where there are none.
        with open(LAUNCH, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        return [f"--launch={LAUNCH}"]
    lines = [line.strip() for line in text.splitlines()]
    lines = [_PREFIX.sub("", line, count=1) for line in lines if line] or list(otherwise)
    if len(lines) > _MOST_LINES:
        raise error(None, f"{len(lines):,} arguments; at most {_MOST_LINES} are supported here")
    for line in lines:
        try:
            found = parse_argument(line)
        except DiagnosticError:
            continue  # the run reports it, with the name of its parameter
        if isinstance(found, BufferSpec) and found.how in ("npy", "bin"):
            raise error(
                None, f"'{line}' names a file; the page reads none", "expected rand, zeros, full or arange"
            )
    return [f"--arg={line}" for line in lines]


def read_passes(text: str) -> Pipeline:
    """Passes as tessera-opt takes them: a pipeline, or options such as `--canonicalize --cse`.

    Raises DiagnosticError for another text, and for a pass that would write a file.
    """
    if "(" in text:
        pipeline = parse_pipeline(text)
    else:
        pipeline = Pipeline("builtin.module")
        try:
            words = shlex.split(text)
        except ValueError as failure:
            raise error(None, f"the passes: {str(failure).lower()}") from None
        for word in words:
            name, _, options = word.lstrip("-").partition("=")
            try:
                made = make_pass(name, parse_options(options))
            except OptionError as failure:
                raise error(None, str(failure)) from None
            if made is None:
                raise _unknown(name)
            pipeline.add(made)
    for one in pipeline.passes():
        for option in type(one).options():
            if option.writes_file and getattr(one, option.field):
                raise error(None, f"'{option.name}' of {one.name} names a file; the page writes none")
    return pipeline


def _unknown(name: str) -> DiagnosticError:
    from tessera_tools.diagnostics import closest
    from tessera_tools.passes.table import PASSES

    near = closest(name, PASSES)
    return error(None, f"there is no pass '{name}'", *([f"did you mean '{near}'?"] if near else ()))
