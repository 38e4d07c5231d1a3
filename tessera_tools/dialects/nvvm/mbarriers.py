"""mbarrier operations (PTX ISA, "mbarrier")."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.nvvm.attributes import MemScopeAttr
from tessera_tools.dialects.nvvm.base import (
    ANY_SHARED,
    GENERIC_OR_SHARED,
    I1_TYPE,
    I32_OR_I64,
    I32_TYPE,
    I64_TYPE,
    SHARED_OR_CLUSTER,
    NVVMOp,
    flag,
    inline_ptx,
    space,
)
from tessera_tools.ir.builtin_attributes import FALSE
from tessera_tools.ir.types import I32
from tessera_tools.opdef import (
    BOOL_ATTR,
    Completion,
    MemoryEffects,
    arrive,
    attribute,
    of_class,
    operand,
    optional_operand,
    optional_result,
    result,
    wait,
    write,
)

if TYPE_CHECKING:
    from tessera_tools.dialects.llvm.base import Emitter

CTA = MemScopeAttr("cta")


class _Scoped(NVVMOp):
    """`llvm.nvvm.mbarrier.<what>[.relaxed].scope.<scope>.space.<space>`, on an address in shared memory."""

    what = ""

    def intrinsic_name(self) -> str:
        relaxed = ".relaxed" if flag(self, "relaxed") else ""
        where = "cluster" if space(self.operand(0)) == 7 else "cta"
        scope = self.attributes.get("scope", CTA)
        return f"llvm.nvvm.mbarrier.{self.what}{relaxed}.scope.{scope.value}.space.{where}"  # type: ignore[attr-defined]

    def address(self, e: Emitter) -> str:
        """The address; a generic one as an address in shared memory."""
        value = self.operand(0)
        if space(value) != 0:
            return e.operand(value)
        return f"ptr addrspace(3) {e.temporary(f'addrspacecast {e.operand(value)} to ptr addrspace(3)')}"

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        return [self.address(e), *[e.operand(v) for v in self.operands[1:]]]


class _OnBarrier(NVVMOp):
    """`llvm.nvvm.mbarrier.<what>[.shared]`."""

    what = ""

    def intrinsic_name(self) -> str:
        return f"llvm.nvvm.{self.what}" + (".shared" if space(self.operand(0)) == 3 else "")


class MBarrierInit(_OnBarrier, name="nvvm.mbarrier.init", traits=(MemoryEffects(write("addr")),)):
    """Make an mbarrier that expects `count` arrivals."""

    what = "mbarrier.init"
    addr = operand(GENERIC_OR_SHARED)
    count = operand(I32_TYPE)
    predicate = optional_operand(I1_TYPE)
    assembly = "$addr `,` $count (`,` `predicate` `=` $predicate^)? attr-dict `:` type(operands)"

    def ptx(self) -> str:
        return f"mbarrier.init{'.shared' if space(self.addr) == 3 else ''}.b64 [$0], $1;"


class MBarrierInval(_OnBarrier, name="nvvm.mbarrier.inval", traits=(MemoryEffects(write("addr")),)):
    """The memory is no longer an mbarrier."""

    what = "mbarrier.inval"
    addr = operand(GENERIC_OR_SHARED)
    assembly = "$addr attr-dict `:` type(operands)"


class _Transaction(_Scoped):
    addr = operand(SHARED_OR_CLUSTER)
    txcount = operand(I32_TYPE)
    scope = attribute(of_class(MemScopeAttr), default=CTA)
    assembly = "$addr `,` $txcount attr-dict `:` type(operands)"


class MBarrierExpectTx(
    _Transaction, name="nvvm.mbarrier.expect_tx", traits=(MemoryEffects(arrive(Completion.MBARRIER, "addr")),)
):
    """Expect that many more bytes."""

    what = "expect.tx"


class MBarrierCompleteTx(
    _Transaction,
    name="nvvm.mbarrier.complete_tx",
    traits=(MemoryEffects(arrive(Completion.MBARRIER, "addr")),),
):
    """That many bytes have come."""

    what = "complete.tx"


class _Arrive(_Scoped):
    addr = operand(ANY_SHARED)
    count = optional_operand(I32_TYPE)
    scope = attribute(of_class(MemScopeAttr), default=CTA)
    relaxed = attribute(BOOL_ATTR, default=FALSE)
    res = optional_result(I64_TYPE)
    assembly = "$addr (`,` $count^)? attr-dict `:` type($addr) (`->` type($res)^)?"

    def intrinsic_result(self, e: Emitter) -> str:
        return "void" if space(self.operand(0)) == 7 else "i64"

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        return [self.address(e), "i32 1" if self.count is None else e.operand(self.count)]

    def verify_op(self) -> None:
        if space(self.operand(0)) == 7 and self.results:
            raise self.error("mbarrier in shared_cluster space cannot return any value")


class MBarrierArrive(
    _Arrive, name="nvvm.mbarrier.arrive", traits=(MemoryEffects(arrive(Completion.MBARRIER, "addr")),)
):
    """Arrive; the state before."""

    what = "arrive"

    def _is_plain(self) -> bool:
        """True if the form without scope is sufficient, which sm_80 also supports."""
        plain = self.count is None and self.scope is CTA and not flag(self, "relaxed")
        return plain and space(self.operand(0)) != 7

    def intrinsic_name(self) -> str:
        return "llvm.nvvm.mbarrier.arrive.shared" if self._is_plain() else super().intrinsic_name()

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        return [self.address(e)] if self._is_plain() else super().intrinsic_arguments(e)


class MBarrierArriveDrop(
    _Arrive, name="nvvm.mbarrier.arrive_drop", traits=(MemoryEffects(arrive(Completion.MBARRIER, "addr")),)
):
    """Arrive, and expect one arrival less from the next phase on."""

    what = "arrive.drop"


class _ArriveNoComplete(_OnBarrier):
    addr = operand(GENERIC_OR_SHARED)
    count = operand(I32_TYPE)
    res = result(I64_TYPE)
    assembly = "$addr `,` $count attr-dict `:` type(operands) `->` type($res)"


class MBarrierArriveNocomplete(
    _ArriveNoComplete,
    name="nvvm.mbarrier.arrive.nocomplete",
    traits=(MemoryEffects(arrive(Completion.MBARRIER, "addr")),),
):
    """Arrive `count` times without completing the phase."""

    what = "mbarrier.arrive.noComplete"


class MBarrierArriveDropNocomplete(
    _ArriveNoComplete,
    name="nvvm.mbarrier.arrive_drop.nocomplete",
    traits=(MemoryEffects(arrive(Completion.MBARRIER, "addr")),),
):
    """Arrive `count` times without completing the phase, and expect fewer arrivals."""

    what = "mbarrier.arrive.drop.noComplete"


class MBarrierArriveExpectTx(
    _Scoped,
    name="nvvm.mbarrier.arrive.expect_tx",
    traits=(MemoryEffects(arrive(Completion.MBARRIER, "addr")),),
):
    """Expect `txcount` more bytes and arrive."""

    what = "arrive.expect.tx"
    addr = operand(ANY_SHARED)
    txcount = operand(I32_TYPE)
    scope = attribute(of_class(MemScopeAttr), default=CTA)
    relaxed = attribute(BOOL_ATTR, default=FALSE)
    predicate = optional_operand(I1_TYPE)
    res = optional_result(I64_TYPE)
    assembly = "$addr `,` $txcount (`,` `predicate` `=` $predicate^)? attr-dict `:` type(operands) (`->` type($res)^)?"

    def intrinsic_result(self, e: Emitter) -> str:
        return "void" if space(self.operand(0)) == 7 else "i64"

    def ptx(self) -> str:
        return f"mbarrier.arrive.expect_tx{'.shared' if space(self.addr) == 3 else ''}.b64 _, [$0], $1;"


class MBarrierArriveDropExpectTx(
    _Scoped,
    name="nvvm.mbarrier.arrive_drop.expect_tx",
    traits=(MemoryEffects(arrive(Completion.MBARRIER, "addr")),),
):
    """Expect `txcount` more bytes, arrive, and expect one arrival less."""

    what = "arrive.drop.expect.tx"
    addr = operand(ANY_SHARED)
    txcount = operand(I32_TYPE)
    scope = attribute(of_class(MemScopeAttr), default=CTA)
    relaxed = attribute(BOOL_ATTR, default=FALSE)
    res = optional_result(I64_TYPE)
    assembly = "$addr `,` $txcount attr-dict `:` type(operands) (`->` type($res)^)?"

    def intrinsic_result(self, e: Emitter) -> str:
        return "void" if space(self.operand(0)) == 7 else "i64"


class MBarrierTestWait(
    _Scoped, name="nvvm.mbarrier.test.wait", traits=(MemoryEffects(wait(Completion.MBARRIER, "addr")),)
):
    """Whether the phase of a state (i64) or parity (i32) is complete."""

    addr = operand(GENERIC_OR_SHARED)
    state_or_phase = operand(I32_OR_I64)
    scope = attribute(of_class(MemScopeAttr), default=CTA)
    relaxed = attribute(BOOL_ATTR, default=FALSE)
    res = result(I1_TYPE)
    assembly = "$addr `,` $state_or_phase attr-dict `:` type(operands) `->` type($res)"

    @property
    def what(self) -> str:
        return "test.wait" + (".parity" if self.state_or_phase.type is I32 else "")


class MBarrierTryWait(
    _Scoped, name="nvvm.mbarrier.try_wait", traits=(MemoryEffects(wait(Completion.MBARRIER, "addr")),)
):
    """As test.wait, after waiting for a while (`ticks` nanoseconds at most)."""

    addr = operand(GENERIC_OR_SHARED)
    state_or_phase = operand(I32_OR_I64)
    ticks = optional_operand(I32_TYPE)
    scope = attribute(of_class(MemScopeAttr), default=CTA)
    relaxed = attribute(BOOL_ATTR, default=FALSE)
    res = result(I1_TYPE)
    assembly = "$addr `,` $state_or_phase (`,` $ticks^)? attr-dict `:` type(operands) `->` type($res)"

    @property
    def what(self) -> str:
        parity = ".parity" if self.state_or_phase.type is I32 else ""
        return f"try.wait{parity}" + (".tl" if self.ticks is not None else "")


class MBarrierTryWaitParity(
    NVVMOp, name="nvvm.mbarrier.try_wait.parity", traits=(MemoryEffects(wait(Completion.MBARRIER, "addr")),)
):
    """Wait until the phase of that parity is complete: a loop of try_wait, as inline PTX."""

    addr = operand(GENERIC_OR_SHARED)
    phase = operand(I32_TYPE)
    ticks = operand(I32_TYPE)
    assembly = "$addr `,` $phase `,` $ticks attr-dict `:` type(operands)"

    def llvm_ir(self, e: Emitter) -> None:
        where = ".shared" if space(self.addr) == 3 else ""
        text = (
            "{\n\t.reg .pred done;\n\tWAIT:\n\t"
            f"mbarrier.try_wait.parity{where}.b64 done, [$0], $1, $2;\n\t"
            "@done bra.uni DONE;\n\tbra.uni WAIT;\n\tDONE:\n\t}"
        )
        inline_ptx(self, e, text, [], self.operands)
