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
    kind = "f" if type is F32 else "r"
    constraints = [f"={kind}"] * len(words) + [str(i) for i in range(len(words))] + ["~{memory}"]
    return assembly(e, text, constraints, words, [type] * len(words))
