"""Memory accesses and the nvvm ops: `EFFECTS[name](op)` makes a function of (cta, operands…) to the result.

Fragments and lane numbers follow the PTX ISA ("ldmatrix", "stmatrix", "Matrix Fragments for mma.m16n8k8/k16",
"shfl.sync", "cp.async").  They are written from there, not from the compiler's tables, so that the two check one
another.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from execution.arithmetic import attribute, integer
from execution.memory import SEVERAL, SHARED_BASE
from execution.values import ExecutionError, from_bytes, poison, size_of, to_bytes

from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Operation

if TYPE_CHECKING:
    from execution.executor import Cta

Effect = Callable[..., Any]
EFFECTS: dict[str, Callable[[Operation], Effect]] = {}


def _effect(names: str) -> Any:
    def add(make: Callable[[Operation], Effect]) -> Callable[[Operation], Effect]:
        for name in names.split():
            EFFECTS[name] = make
        return make

    return add


def word(op: Operation, key: str, default: str = "") -> str:
    """The word of an enumeration attribute: `col` of `#nvvm.mma_layout<col>`."""
    value = attribute(op, key)
    return default if value is None else re.findall(r"\w+", str(value))[-1]


def _space(type: Type) -> int:
    if not isinstance(type, PointerType) or type.address_space not in (1, 3):
        raise ExecutionError(f"accesses through {type} are not modeled, only global and shared ones")
    return type.address_space


# -- loads, stores, addresses


@_effect("llvm.mlir.addressof")
def _address_of(op: Operation) -> Effect:
    name = str(attribute(op, "global_name"))
    if "global_smem" not in name:
        raise ExecutionError(f"the address of {name} is not modeled")
    return lambda cta: np.full(cta.threads, SHARED_BASE, np.uint64)


@_effect("llvm.load")
def _load(op: Operation) -> Effect:
    type, space = op.results[0].type, _space(op.operand(0).type)
    size = size_of(type)
    alignment = integer(op, "alignment", size)

    def load(cta: Cta, address: Any) -> Any:
        at = cta.active
        if space == 3:
            data = cta.shared.read(address[at], size, alignment, at)
        else:
            data = cta.memory.read(address[at], size, alignment)
        if len(at) == cta.threads:
            return from_bytes(data, type)
        result = poison(type, cta.threads)
        result[at] = from_bytes(data, type)
        return result

    return load


@_effect("llvm.store")
def _store(op: Operation) -> Effect:
    type, space = op.operand(0).type, _space(op.operand(1).type)
    alignment = integer(op, "alignment", size_of(type))

    def store(cta: Cta, value: Any, address: Any) -> None:
        at = cta.active
        data = to_bytes(value, type)[at]
        if space == 3:
            cta.shared.write(address[at], data, alignment, at)
        else:
            cta.memory.write(address[at], data, alignment)

    return store


@_effect("llvm.intr.assume")
def _assume(op: Operation) -> Effect:
    def assume(cta: Cta, condition: Any, *rest: Any) -> None:
        if not condition[cta.active].all():
            raise ExecutionError("assumes what does not hold")

    return assume


# -- special registers

_REGISTERS: dict[str, Callable[[Any], Any]] = {
    "tid": lambda cta: (np.arange(cta.threads, dtype=np.uint32), 0, 0),
    "ntid": lambda cta: (cta.threads, 1, 1),
    "ctaid": lambda cta: cta.index,
    "nctaid": lambda cta: cta.grid,
}
for _name in _REGISTERS:
    for _axis in range(3):

        def _make(op: Operation, name: str = _name, axis: int = _axis) -> Effect:
            return lambda cta: np.broadcast_to(
                np.asarray(_REGISTERS[name](cta)[axis], np.uint32), cta.threads
            )

        EFFECTS[f"nvvm.read.ptx.sreg.{_name}.{'xyz'[_axis]}"] = _make


@_effect("nvvm.read.ptx.sreg.laneid")
def _lane_id(op: Operation) -> Effect:
    return lambda cta: np.arange(cta.threads, dtype=np.uint32) % np.uint32(32)


# -- asynchronous copies


@_effect("nvvm.cp.async.shared.global")
def _copy_async(op: Operation) -> Effect:
    """`size` bytes, of which the first `cp_size` come from global memory and the rest are zeros."""
    size = integer(op, "size")
    if size not in (4, 8, 16) or (word(op, "modifier") == "cg" and size != 16):
        raise ExecutionError(f"copies {size} bytes")

    def copy(cta: Cta, to: Any, source: Any, *taken: Any) -> None:
        at = cta.active
        counts = taken[0][at].astype(np.int64) if taken else np.full(len(at), size)
        if (counts > size).any():
            raise ExecutionError(f"takes {int(counts.max())} bytes of a copy of {size}")
        data = np.zeros((len(at), size), np.uint8)
        for count in np.unique(counts[counts > 0]):
            which = counts == count
            misaligned = source[at][which] % np.uint64(size) != 0
            if misaligned.any():
                raise ExecutionError(f"copies {size} bytes from an address that is not a multiple of {size}")
            data[which, :count] = cta.memory.read(source[at][which], int(count), 1, "a cp.async")
        cta.shared.copy_async(to[at], data, at)

    return copy


@_effect("nvvm.cp.async.commit.group")
def _commit(op: Operation) -> Effect:
    return lambda cta: cta.shared.commit(cta.active)


@_effect("nvvm.cp.async.wait.group")
def _wait(op: Operation) -> Effect:
    pending = integer(op, "n")
    return lambda cta: cta.shared.wait(cta.mask, pending)


@_effect("nvvm.cp.async.wait.all")
def _wait_all(op: Operation) -> Effect:
    return lambda cta: cta.shared.wait(cta.mask, None)


# -- warps


def _warps(cta: Cta, what: str = "runs") -> np.ndarray:
    """Which warps run a warp-wide instruction; all their lanes must."""
    lanes = cta.mask.reshape(-1, 32)
    warps = np.flatnonzero(lanes.any(axis=1))
    if not lanes[warps].all():
        raise ExecutionError("is for whole warps, but some lanes are elsewhere")
    return warps


def _rows(cta: Cta, pointers: Any, warps: np.ndarray, num: int) -> np.ndarray:
    """[warps · num · 8] addresses of rows: row r of matrix i is lane 8i + r's."""
    return pointers.reshape(-1, 32)[warps, : 8 * num].reshape(-1)


@_effect("nvvm.ldmatrix")
def _ldmatrix(op: Operation) -> Effect:
    """Matrix i: lane l gets elements 2(l mod 4), + 1 of row l / 4; transposed, of column l / 4."""
    num, transposed = integer(op, "num"), word(op, "layout") == "col"
    if num not in (1, 2, 4) or word(op, "eltType", "b16") != "b16":
        raise ExecutionError(f"ldmatrix .x{num} of {word(op, 'eltType')} is not modeled")

    def load(cta: Cta, pointers: Any) -> Any:
        warps = _warps(cta)
        data = cta.shared.read(_rows(cta, pointers, warps, num), 16, 16, SEVERAL, "ldmatrix")
        matrices = data.view(np.uint16).reshape(-1, num, 8, 8)
        if transposed:
            matrices = matrices.swapaxes(2, 3)
        words = np.ascontiguousarray(matrices).view(np.uint32).reshape(-1, num, 32)
        whole = np.full((cta.threads // 32, num, 32), 0xFFFFFFFF, np.uint32)
        whole[warps] = words
        parts = tuple(np.ascontiguousarray(whole[:, i]).reshape(-1) for i in range(num))
        return parts if num > 1 else parts[0]

    return load


@_effect("nvvm.stmatrix")
def _stmatrix(op: Operation) -> Effect:
    """The inverse of ldmatrix."""
    transposed = word(op, "layout") == "col"
    if word(op, "eltType", "b16") != "b16":
        raise ExecutionError(f"stmatrix of {word(op, 'eltType')} is not modeled")

    def store(cta: Cta, pointers: Any, *values: Any) -> None:
        warps = _warps(cta)
        num = len(values)
        words = np.stack([v.reshape(-1, 32)[warps] for v in values], axis=1)
        matrices = np.ascontiguousarray(words).view(np.uint16).reshape(-1, num, 8, 8)
        if transposed:
            matrices = np.ascontiguousarray(matrices.swapaxes(2, 3))
        data = matrices.view(np.uint8).reshape(-1, 16)
        cta.shared.write(_rows(cta, pointers, warps, num), data, 16, SEVERAL, "stmatrix")

    return store


def _numbers(value: Any, type: Type, kind: str) -> np.ndarray:
    """[threads, elements] f32 of one 32-bit register."""
    data = to_bytes(value, type)
    if kind == "f16":
        return data.view(np.float16).astype(np.float32)
    if kind == "bf16":
        return (data.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
    if kind == "tf32":
        return (data.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    raise ExecutionError(f"mma.sync on {kind} is not modeled")


@_effect("nvvm.mma.sync")
def _mma(op: Operation) -> Effect:
    """D = A·B + C. With g = lane / 4, t = lane mod 4, and e elements a register:

    A register r: row g + 8 (r mod 2), columns e·t … + 4e (r / 2)    B register r: column g, rows e·t … + 4e·r
    C, D register r: row g + 8 (r / 2), column 2t + r mod 2
    """
    kind = word(op, "multiplicandAPtxType")
    if word(op, "multiplicandBPtxType") != kind or (word(op, "layoutA"), word(op, "layoutB")) != (
        "row",
        "col",
    ):
        raise ExecutionError("mma.sync of these operands is not modeled")
    m, n, k = (int(x) for x in re.findall(r"= (\d+)", str(attribute(op, "shape"))))
    elements = 1 if kind == "tf32" else 2
    a_size, b_size, c_size = attribute(op, "operandSegmentSizes").values
    expected = (m * k // 32 // elements, k * n // 32 // elements, 4)
    if (
        (m, n) != (16, 8)
        or (a_size, b_size, c_size) != expected
        or str(op.operand(a_size + b_size).type) != "f32"
    ):
        raise ExecutionError(
            f"mma.sync m{m}n{n}k{k} with {a_size}, {b_size} and {c_size} registers is not modeled"
        )
    types = op.operand_types

    def multiply(cta: Cta, *values: Any) -> Any:
        _warps(cta)
        numbers = [_numbers(v, t, kind) for v, t in zip(values[: a_size + b_size], types, strict=False)]
        # Axes: warp, g, t, register (A: column half, row half), element.
        a = np.stack(numbers[:a_size], axis=1).reshape(-1, 8, 4, a_size // 2, 2, elements)
        b = np.stack(numbers[a_size:], axis=1).reshape(-1, 8, 4, b_size, elements)
        c = np.stack(values[a_size + b_size :], axis=1).reshape(-1, 8, 4, 2, 2)
        left = a.transpose(0, 4, 1, 3, 2, 5).reshape(-1, 16, k)
        right = b.transpose(0, 3, 2, 4, 1).reshape(-1, k, 8)
        start = c.transpose(0, 3, 1, 2, 4).reshape(-1, 16, 8)
        product = np.matmul(left, right) + start
        d = product.reshape(-1, 2, 8, 4, 2).transpose(0, 2, 3, 1, 4).reshape(-1, 4)
        return tuple(np.ascontiguousarray(d[:, i]) for i in range(4))

    return multiply


@_effect("nvvm.shfl.sync")
def _shuffle(op: Operation) -> Effect:
    """A lane whose source is out of its segment keeps its own value."""
    kind = word(op, "kind")
    if attribute(op, "return_value_and_is_valid") is not None:
        raise ExecutionError("shfl.sync that says whether the lane was valid is not modeled")

    def shuffle(cta: Cta, members: Any, value: Any, by: Any, clamp: Any) -> Any:
        lanes = np.arange(cta.threads) % 32
        base = np.arange(cta.threads) - lanes
        by, segment, last = by.astype(np.int64), clamp.astype(np.int64) >> 8 & 31, clamp.astype(np.int64) & 31
        most, least = lanes & segment | last & ~segment, lanes & segment
        if kind == "idx":
            source = least | (by & 31) & ~segment
        elif kind == "bfly":
            source = lanes ^ by & 31
        else:
            source = lanes - (by & 31) if kind == "up" else lanes + (by & 31)
        valid = source >= most if kind == "up" else source <= most
        source = base + np.where(valid, source, lanes)
        active = cta.mask
        bits = (active.reshape(-1, 32) * (np.uint64(1) << np.arange(32, dtype=np.uint64))).sum(
            axis=1, dtype=np.uint64
        )
        if (np.repeat(bits, 32) != members)[active].any():
            raise ExecutionError("names other lanes than those that run it")
        return value[source]

    return shuffle
