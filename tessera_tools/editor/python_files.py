"""Diagnostics of Python files with kernels: their syntax, and if the user allows it, the errors of compiling them.

A cuTile kernel is compiled for the arguments of a comment: `# tessera-check: add(f32[4096], f32[4096], 1024)`.
An array is its element type and extents; a number, True or False is itself. A kernel of `tessera_tools.dsl` declares
its types, so that it needs a comment only for `constexpr` parameters without values.

Nothing of a file is executed unless `run` is true: to have its kernels, the file must be imported.
"""

from __future__ import annotations

import ast
import linecache
import os
import re
import sys
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tessera_tools.diagnostics import Diagnostic, DiagnosticError, Position
from tessera_tools.records import dataclass

if TYPE_CHECKING:
    from tessera_tools.dsl.function import Function

__all__ = ["check_python", "has_kernels"]

_CHECK = re.compile(r"^[ \t]*#[ \t]*tessera-check:[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_CALL = re.compile(r"([A-Za-z_]\w*)\((.*)\)")
_ARGUMENT = re.compile(r"(?:([a-z]+\d+)\[([\d,\s]*)\]|(True|False)|(-?\d+\.\d*|-?\d+))\s*(?:,\s*|$)")
_DTYPES = {
    "f16": "float16", "f32": "float32", "f64": "float64", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
}  # fmt: skip
_MOST_BYTES = 1 << 28


def has_kernels(text: str) -> bool:
    """True if a file looks as if it had kernels that can be compiled."""
    return "cuda.tile" in text or "tessera_tools" in text


def check_python(text: str, path: str, run: bool, gpu: str = "sm_90a") -> list[Diagnostic]:
    """The errors of a Python file. With `run`, the file is executed, and its kernels are compiled for `gpu`."""
    try:
        tree = ast.parse(text, path)
        compiled = compile(text, path, "exec", dont_inherit=True)
    except SyntaxError as failure:
        return [Diagnostic("error", Position(path, failure.lineno or 1, failure.offset or 1), failure.msg)]
    except (ValueError, RecursionError, MemoryError) as failure:
        return [Diagnostic("error", Position(path, 1, 1), f"the file cannot be read: {failure}")]
    if not run or not has_kernels(text):
        return []
    checks = list(_checks(text, path))
    found = [one for one in checks if isinstance(one, Diagnostic)]
    wanted = [one for one in checks if isinstance(one, _Check)]
    if wanted or _imports_dsl(tree):
        found += _compile(text, path, compiled, wanted, gpu)
    return found


def _imports_dsl(tree: ast.Module) -> bool:
    """True if a file may have kernels that need no comment."""
    return any(
        (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tessera_tools"))
        or (isinstance(node, ast.Import) and any(one.name.startswith("tessera_tools") for one in node.names))
        for node in ast.walk(tree)
    )


@dataclass(frozen=True, slots=True)
class _Check:
    """A kernel and the arguments to compile it for."""

    position: Position
    kernel: str
    arguments: list[object]


def _checks(text: str, path: str) -> Iterator[_Check | Diagnostic]:
    for match in _CHECK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        column = match.start(1) - (text.rfind("\n", 0, match.start(1)) + 1) + 1
        position = Position(path, line, column)
        call = _CALL.fullmatch(match.group(1))
        try:
            if call is None:
                raise ValueError(
                    f"found '{match.group(1)}', expected a kernel with its arguments: add(f32[4096], 1024)"
                )
            yield _Check(position, call.group(1), list(_arguments(call.group(2).strip())))
        except ValueError as failure:
            yield Diagnostic("error", position, str(failure))


def _arguments(text: str) -> Iterator[object]:
    import numpy as np

    at = 0
    while at < len(text):
        match = _ARGUMENT.match(text, at)
        if match is None:
            raise ValueError(f"found '{text[at:]}', expected an array such as f32[4096], or a number")
        at = match.end()
        name, extents, truth, number = match.groups()
        if name is not None:
            if name not in _DTYPES:
                raise ValueError(f"'{name}' is no element type; expected one of {', '.join(_DTYPES)}")
            shape = [int(extent) for extent in extents.split(",") if extent.strip()]
            dtype = np.dtype(_DTYPES[name])
            size = dtype.itemsize
            for extent in shape:
                size *= extent
            if size > _MOST_BYTES:
                raise ValueError(f"the array has {size} bytes; at most {_MOST_BYTES} are supported")
            yield np.zeros(shape, dtype)
        elif truth is not None:
            yield truth == "True"
        else:
            yield float(number) if "." in number else int(number)


def _compile(text: str, path: str, code: types.CodeType, checks: list[_Check], gpu: str) -> list[Diagnostic]:
    """Import the text as a module, and compile the kernels."""

    # cuTile and errors read the source by the file's name; the text may not be saved yet.
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    sys.path.insert(0, os.path.dirname(path))
    module = types.ModuleType("tessera_checked")
    module.__file__ = path
    sys.modules[module.__name__] = module
    try:
        exec(code, module.__dict__)
    except BaseException as failure:
        return [_failure(failure, path, "the file cannot be imported")]
    found: list[Diagnostic] = []
    checked: set[str] = set()
    for check in checks:
        kernel = module.__dict__.get(check.kernel)
        if kernel is None:
            found.append(Diagnostic("error", check.position, f"the file defines no kernel '{check.kernel}'"))
            continue
        checked.add(check.kernel)
        found += _errors(kernel, check.kernel, check.arguments, path, gpu)
    for name, kernel in _declared_kernels(module, path):
        if name not in checked:
            found += _errors(kernel, name, None, path, gpu)
    # Several versions of a kernel may have the same error.
    return list({(str(one.location), one.message): one for one in found}.values())


def _declared_kernels(module: types.ModuleType, path: str) -> Iterator[tuple[str, Function]]:
    """The kernels of `tessera_tools.dsl` that the file itself defines, and that need no values."""
    from tessera_tools.dsl.function import Function

    for name, value in list(module.__dict__.items()):
        if isinstance(value, Function) and value.file == path and not value.open_constants():
            yield name, value


def _errors(
    kernel: object, name: str, arguments: list[object] | None, path: str, gpu: str
) -> list[Diagnostic]:
    """The errors of compiling a kernel."""
    from tessera_tools.api.compiling import compile as compile_kernel

    try:
        compile_kernel(kernel, gpu, args=arguments)
    except DiagnosticError as failure:
        return list(failure.diagnostics)
    except Exception as failure:
        return [_failure(failure, path, f"'{name}' cannot be compiled")]
    return []


def _failure(failure: BaseException, path: str, doing: str) -> Diagnostic:
    """An exception at the last line of the file on its way."""
    line = 1
    trace = failure.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return Diagnostic("error", Position(path, line, 1), f"{doing}: {type(failure).__name__}: {failure}")
