"""Inline assembly, and registers that an asynchronous instruction may still write until a wait ties them.

%r = an instruction that writes its registers later
%t = inline assembly "wait;" with results tied to %r        nothing that reads %t moves before the wait
"""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.dialects import llvm
from tessera_tools.dialects.llvm.types import struct
from tessera_tools.ir.builtin_attributes import UNIT, StringAttr
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import F32, Type
from tessera_tools.passes.llvm.emitter import Emitter


def assembly(
    e: Emitter, text: str, constraints: Sequence[str], operands: Sequence[Value], types: Sequence[Type]
) -> list[Value]:
    """The results of an instruction as inline assembly with side effects."""
    made = e.emit(
        llvm.InlineAsm(
            list(operands),
            StringAttr(text),
            StringAttr(",".join(constraints)),
            UNIT,
            res=struct(*types) if len(types) > 1 else types[0],
        )
    )
    return e.fields(made.results[0], types) if len(types) > 1 else [made.results[0]]


def tied(e: Emitter, words: Sequence[Value], type: Type, text: str) -> list[Value]:
    """Registers of 32 bits, all of one type, behind an instruction that ties them."""
    return assembly(e, text, [*_ties(len(words), type), "~{memory}"], words, [type] * len(words))


def in_place(e: Emitter, words: Sequence[Value], type: Type) -> list[Value]:
    """The same registers, which are computed here: the optimizer does not move that to where they are used."""
    distinct = list(dict.fromkeys(words))
    found = assembly(e, "", _ties(len(distinct), type), distinct, [type] * len(distinct))
    now = dict(zip(distinct, found, strict=True))
    return [now[word] for word in words]


def _ties(count: int, type: Type) -> list[str]:
    kind = "f" if type is F32 else "r"
    return [f"={kind}"] * count + [str(i) for i in range(count)]
