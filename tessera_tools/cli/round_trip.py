"""`--verify-roundtrip`: the text of a module, in each form, and its bytecode are read as the same module.

module ──print: custom, generic, with locations──▶ text ──parse──▶ module ──print: generic, with locations──▶ the same?
       ──────────────write──▶ bytecode ──read──▶ module, without names ──────────────▲
"""

from __future__ import annotations

import difflib

from tessera_tools.diagnostics import DiagnosticError, error
from tessera_tools.ir.core import BlockArgument, Operation
from tessera_tools.ir.printing import print_op
from tessera_tools.ir.style import Style
from tessera_tools.parser import parse_module

__all__ = ["check_round_trip", "forget_names"]

_FORMS = {
    "custom form": Style(debuginfo=True),
    "generic form": Style(generic=True, debuginfo=True),
    "form in local scope": Style(debuginfo=True, local_scope=True),
}


def check_round_trip(module: Operation, *, allow_unregistered: bool) -> None:
    """Raises DiagnosticError with the first difference, if there is one."""
    expected = _fingerprint(module)
    for name, style in _FORMS.items():
        text = print_op(module, style=style)
        try:
            again = parse_module(text, f"<{name}>", allow_unregistered=allow_unregistered)
        except DiagnosticError as failure:
            what = f"the {name} of the input does not parse: {failure.diagnostics[0].message}"
            raise error(module.location, what, *_line(text, failure)) from None
        if module.name != "builtin.module" and len(again.regions[0].block) == 1:
            only = again.regions[0].block.first_op
            assert only is not None
            again = only
        again.location = module.location  # an implicit module has that of the file
        _keep_unwritten_locations(module, again, f"<{name}>")
        found = _fingerprint(again)
        if found != expected:
            raise error(
                module.location,
                f"the {name} of the input parses to another module",
                *_first_change(expected, found),
            )

    _check_bytecode(module, allow_unregistered)


def forget_names(module: Operation) -> None:
    """Remove the names of values and blocks, which are not in bytecode, from an op and all inside."""
    for op in (module, *module.walk()):
        for result in op.results:
            result.name_hint = None
        for region in op.regions:
            for block in region.blocks:
                block.label = None
                for argument in block.arguments:
                    argument.name_hint = None


def _check_bytecode(module: Operation, allow_unregistered: bool) -> None:
    """The same for bytecode, in which values and blocks have no names."""
    from tessera_tools.mlir_bytecode import read_mlir_bytecode, write_mlir_bytecode

    unnamed = module.clone()
    forget_names(unnamed)
    try:
        again = read_mlir_bytecode(
            write_mlir_bytecode(module), "<bytecode>", allow_unregistered=allow_unregistered, verify=False
        )
    except DiagnosticError as failure:
        raise error(
            module.location, f"the bytecode of the input cannot be read: {failure.diagnostics[0].message}"
        ) from None
    if module.name != "builtin.module":
        only = again.regions[0].block.first_op
        assert only is not None
        again = only
    expected, found = _fingerprint(unnamed), _fingerprint(again)
    if found != expected:
        raise error(
            module.location,
            "the bytecode of the input is read as another module",
            *_first_change(expected, found),
        )


def _fingerprint(op: Operation) -> list[str]:
    return print_op(op, style=Style(generic=True, debuginfo=True, local_scope=True)).splitlines()


def _keep_unwritten_locations(module: Operation, again: Operation, file: str) -> None:
    """Give what the text does not write its location back: the block arguments of an `scf.for`, and the terminator
    that may be omitted."""
    for op, found in zip(module.walk(), again.walk(), strict=False):
        pairs: list[tuple[Operation | BlockArgument, Operation | BlockArgument]] = [(op, found)]
        for region, parsed in zip(op.regions, found.regions, strict=False):
            for block, other in zip(region.blocks, parsed.blocks, strict=False):
                pairs += zip(block.arguments, other.arguments, strict=False)
        for one, twin in pairs:
            place = twin.location.start()
            if place is not None and place[0] == file:
                twin.location = one.location


def _first_change(expected: list[str], found: list[str]) -> list[str]:
    """The first pair of lines that differ."""
    changes = (
        line
        for line in difflib.unified_diff(expected, found, n=0, lineterm="")
        if line[:2] not in ("--", "++")
    )
    return [line for line in changes if line[0] in "+-"][:2]


def _line(text: str, failure: DiagnosticError) -> list[str]:
    location = failure.diagnostics[0].location
    place = location.start() if location is not None else None
    lines = text.splitlines()
    return [lines[place[1] - 1].strip()] if place is not None and 1 <= place[1] <= len(lines) else []
