"""The rules of llvm attributes on modules and functions of any dialect."""

from __future__ import annotations

import re

from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import StringAttr
from tessera_tools.ir.core import Operation
from tessera_tools.opdef import OpRule

_SPECIFIER = re.compile(r"[eEpifavsSAPGmn]|F[in]")
"""What begins a part of a data layout (LLVM LangRef, "Data Layout")."""


def _data_layout(op: Operation, value: Attribute) -> str | None:
    if not isinstance(value, StringAttr):
        return f"'{op.name}' op expected 'llvm.data_layout' to be a string attributes"
    for part in value.value.split("-") if value.value else ():
        if not part:
            return f"'{op.name}' op invalid data layout descriptor: empty specification is not allowed"
        if not _SPECIFIER.match(part):
            return f"'{op.name}' op invalid data layout descriptor: unknown specifier '{part[0]}'"
    return None


OP_ATTRIBUTES: dict[str, OpRule] = {"llvm.data_layout": _data_layout}
