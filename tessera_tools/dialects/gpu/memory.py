"""Memory of the device, from the host: allocation, copies, registered host memory."""

from __future__ import annotations

from tessera_tools.dialects.gpu.attributes import AsyncTokenType
from tessera_tools.dialects.memref.buffers import may_have_equal_shapes, verify_sizes
from tessera_tools.ir.types import I32, UnrankedMemRefType
from tessera_tools.opdef import (
    ALLOCATE,
    ANY_INDEX,
    ANY_MEMREF,
    READ_WRITE,
    UNIT_ATTR,
    MemoryEffects,
    Op,
    attribute,
    exactly,
    free,
    of,
    operand,
    optional_result,
    read,
    result,
    variadic_operand,
    write,
)

_TOKEN = of(AsyncTokenType, summary="async token type")
_UNRANKED = of(UnrankedMemRefType, summary="unranked.memref of any type values")


class Alloc(Op, name="gpu.alloc", traits=(ALLOCATE,)):
    """Memory of the device until `gpu.dealloc`; with `host_shared`, the host can access it too."""

    async_dependencies = variadic_operand(_TOKEN)
    dynamic_sizes = variadic_operand(ANY_INDEX)
    symbol_operands = variadic_operand(ANY_INDEX)
    host_shared = attribute(UNIT_ATTR, optional=True, key="hostShared")
    memref = result(ANY_MEMREF)
    async_token = optional_result(_TOKEN)
    assembly = (
        "custom<Async>($async_dependencies, type($async_token)) (` ` `host_shared` $host_shared^)? "
        "` ` `(` $dynamic_sizes `)` (`` `[` $symbol_operands^ `]`)? attr-dict `:` type($memref)"
    )

    def verify_op(self) -> None:
        verify_sizes(self, self.memref.type, self.dynamic_sizes, self.symbol_operands)


class _Asynchronous(Op):
    """The base of ops that may start after tokens and return one."""

    async_dependencies = variadic_operand(_TOKEN)
    async_token = optional_result(_TOKEN)


class Dealloc(_Asynchronous, name="gpu.dealloc", traits=(MemoryEffects(free("memref")),)):
    """Gives back what `gpu.alloc` took."""

    memref = operand(ANY_MEMREF)
    assembly = "custom<Async>($async_dependencies, type($async_token)) $memref attr-dict `:` type($memref)"


class Memcpy(_Asynchronous, name="gpu.memcpy", traits=(MemoryEffects(write("dst"), read("src")),)):
    """Copies a buffer to another of the same shape, between host and device or within one."""

    dst = operand(ANY_MEMREF)
    src = operand(ANY_MEMREF)
    assembly = (
        "custom<Async>($async_dependencies, type($async_token)) $dst `,` $src "
        "`:` type($dst) `,` type($src) attr-dict"
    )

    def verify_op(self) -> None:
        dst, src = self.dst.type, self.src.type
        if dst.element is not src.element:
            raise self.error("arguments have incompatible element type")
        if not may_have_equal_shapes(dst, src):
            raise self.error("arguments have incompatible shape")


class Memset(_Asynchronous, name="gpu.memset", traits=(MemoryEffects(write("dst")),)):
    """Sets every element of a buffer to a value."""

    dst = operand(ANY_MEMREF)
    value = operand()
    assembly = (
        "custom<Async>($async_dependencies, type($async_token)) $dst `,` $value `:` type($dst) `,` type($value) "
        "attr-dict"
    )

    def verify_op(self) -> None:
        if self.dst.type.element is not self.value.type:
            raise self.error("failed to verify that all of {dst, value} have same element type")


class HostRegister(Op, name="gpu.host_register", traits=(READ_WRITE,)):
    """Lets the device access a buffer of the host."""

    value = operand(_UNRANKED)
    assembly = "$value attr-dict `:` type($value)"


class HostUnregister(Op, name="gpu.host_unregister", traits=(READ_WRITE,)):
    """Ends what `gpu.host_register` began."""

    value = operand(_UNRANKED)
    assembly = "$value attr-dict `:` type($value)"


class SetDefaultDevice(Op, name="gpu.set_default_device", traits=(MemoryEffects(write()),)):
    """The device for the ops that follow."""

    dev_index = operand(exactly(I32))
    assembly = "attr-dict $dev_index"
