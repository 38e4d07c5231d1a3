"""Ops of `cuda_tile` on the device as a whole: memory of a block's own, dependent launches, fences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.cuda_tile.constraints import SCALAR_POINTER, TOKEN_TYPE, pointee_of
from tessera_tools.dialects.cuda_tile.types import TOKEN
from tessera_tools.ir.types import bit_width
from tessera_tools.opdef import (
    I64_ATTR,
    READ_WRITE,
    UNIT_ATTR,
    CustomDirective,
    Op,
    attribute,
    exactly,
    operand,
    optional_operand,
    result,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState


class Alloca(Op, name="cuda_tile.alloca", traits=(READ_WRITE,)):
    """Memory for `num_elem` elements, until the end of the op's block; `alignment` is in bytes.

    Only this tile block may use the address, unless `global`.
    """

    num_elem = attribute(I64_ATTR)
    alignment = attribute(I64_ATTR)
    global_ = attribute(UNIT_ATTR, optional=True)
    result = result(SCALAR_POINTER)
    assembly = (
        "`num_elem` `=` $num_elem `,` `alignment` `=` $alignment ($global^)? attr-dict `:` type($result)"
    )

    def verify_op(self) -> None:
        for key in ("num_elem", "alignment"):
            if self.attributes[key].value < 0:  # type: ignore[attr-defined]
                raise self.error(
                    f"attribute '{key}' failed to satisfy constraint: 64-bit signless integer attribute whose minimum "
                    "value is 0"
                )
        alignment, pointee = self.alignment.value, pointee_of(self.result)
        if alignment <= 0 or alignment & (alignment - 1):
            raise self.error("'alignment' must be power of two")
        size = max(1, bit_width(pointee) // 8)
        if alignment < size:
            raise self.error(
                f"'alignment' ({alignment}) must be at least the natural size ({size} bytes) for element type "
                f"'{pointee}'"
            )


class _Dependency(Op):
    token = optional_operand(exactly(TOKEN))
    result_token = result(TOKEN_TYPE)
    assembly = "(`token` `=` $token^)? attr-dict `->` type($result_token)"


class GdcWaitTko(_Dependency, name="cuda_tile.gdc_wait_tko", traits=(READ_WRITE,)):
    """Waits until the kernels that this one depends on have finished, and their writes are seen."""

    token = optional_operand(exactly(TOKEN))


class GdcLaunchDependentsTko(_Dependency, name="cuda_tile.gdc_launch_dependents_tko", traits=(READ_WRITE,)):
    """Lets the kernels that depend on this one begin."""

    token = optional_operand(exactly(TOKEN))


class Fence(CustomDirective, name="Fence"):
    """`%token`: operand and result are tokens, so that no type is written."""

    grammar = "custom: VALUE attr_dict"

    def read(self, state: OpState, node: Node) -> None:
        token, attributes = node
        state.operand("token", token)
        state.types("token", [TOKEN])
        for key, value in attributes.items():
            state.attribute(key, value)
        state.types("result_token", [TOKEN])

    def write(self, p: Printer, op: MemoryFenceAliasTko) -> None:
        p.write(f" {p.name(op.token)}")
        p.attr_dict(op)


class MemoryFenceAliasTko(Op, name="cuda_tile.memory_fence_alias_tko", traits=(READ_WRITE,)):
    """Orders accesses to the same memory through different addresses of it."""

    token = operand(TOKEN_TYPE)
    result_token = result(TOKEN_TYPE)
    assembly = "custom<Fence>"
