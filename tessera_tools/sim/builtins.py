"""Functions that the driver provides: vprintf, __assertfail, malloc, free.

Arguments and results are .param variables of the caller, in the thread's local memory.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable

import numpy as np

from tessera_tools.sim.access import load, parts
from tessera_tools.sim.memory import POISON, UNINITIALIZED, Buffer
from tessera_tools.sim.program import Variable
from tessera_tools.sim.warp import Mask, Outcome, Warp, mask_of

__all__ = ["BUILTINS"]

Builtin = Callable[[Warp, Mask, list[Variable], list[Variable]], Outcome]
_CONVERSION = re.compile(r"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d*))?(hh|h|ll|l|j|z|t|L)?([diouxXeEfFgGaAcsp%])")
_LONGEST = 1 << 16
MOST_OUTPUT = 1 << 20
"""Characters that a launch may print; a GPU has the same limit (CUDA C++ Programming Guide, "Formatted Output")."""
HEAP_BYTES = 8 << 20
"""Bytes that a launch may have allocated by malloc at one time: the driver's default heap size."""


def _argument(warp: Warp, lane: int, variable: Variable) -> int:
    data, _ = warp.local.rows(variable.offset, variable.size)
    return int.from_bytes(data[lane].tobytes(), "little")


def _give(warp: Warp, mask: Mask, variables: list[Variable], value: int) -> None:
    for variable in variables[:1]:
        data, state = warp.local.rows(variable.offset, variable.size)
        raw = np.frombuffer((value % (1 << 8 * variable.size)).to_bytes(variable.size, "little"), np.uint8)
        data[mask.array] = raw
        state[mask.array] = 0


def _byte(warp: Warp, lane: int, address: int) -> int:
    row = np.full(32, address, np.uint64)
    return int(load(warp, mask_of(1 << lane), "generic", row, 1)[0])


def _text(warp: Warp, lane: int, address: int) -> str:
    raw = bytearray()
    while len(raw) < _LONGEST and (byte := _byte(warp, lane, address + len(raw))):
        if byte == 0xFF and not parts(warp, mask_of(1 << lane), "generic", np.full(32, address, np.uint64)):
            break
        raw.append(byte)
    return raw.decode("utf-8", "replace")


def _number(warp: Warp, lane: int, address: int, width: int) -> bytes:
    return bytes(_byte(warp, lane, address + at) for at in range(width))


def _extent(text: str | None) -> str | None:
    """A width or precision, limited so that one conversion produces at most `MOST_OUTPUT` characters."""
    if text is None or len(text) < 7:
        return text
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    return f"{sign}{MOST_OUTPUT if len(digits) > 7 else min(int(digits), MOST_OUTPUT)}"


def _format(warp: Warp, lane: int, text: str, address: int) -> tuple[str, int]:
    """C's printf, and the number of arguments it read. Arguments are contiguous, each aligned to its size."""
    at, taken = address, 0

    def take(width: int) -> bytes:
        nonlocal at, taken
        taken += 1
        at = -(-at // width) * width
        raw = _number(warp, lane, at, width)
        at += width
        return raw

    def convert(match: re.Match[str]) -> str:
        flags, width, precision, length, kind = match.groups()
        if kind == "%":
            return "%"
        width = _extent(str(int.from_bytes(take(4), "little", signed=True)) if width == "*" else width)
        precision = _extent(
            str(int.from_bytes(take(4), "little", signed=True)) if precision == "*" else precision
        )
        if precision == "":
            precision = "0"
        elif precision is not None and precision.startswith("-"):
            precision = None  # A negative precision is treated as if it were omitted (C, 7.21.6.1).
        spec = f"%{flags}{width or ''}{'.' + precision if precision is not None else ''}"
        if kind in "eEfFgGaA":
            (value,) = struct.unpack("<d", take(8))
            if kind in "aA" or not math.isfinite(value):
                # Zeros stand before digits only.
                return (f"%{flags.replace('0', '')}{width or ''}s") % _as_text(value, kind, flags)
            return (spec + kind) % value
        if kind == "s":
            return (spec + "s") % _text(warp, lane, int.from_bytes(take(8), "little"))
        if kind == "p":
            address = int.from_bytes(take(8), "little")
            return (f"%{flags}{width or ''}s") % (hex(address) if address else "(nil)")
        if kind == "c":
            return (f"%{flags}{width or ''}s") % chr(int.from_bytes(take(4), "little") & 0xFF)
        size = 8 if length in ("l", "ll", "j", "z", "t") else 4
        raw = take(size)[: {"h": 2, "hh": 1}.get(length, size)]
        return _integer(int.from_bytes(raw, "little", signed=kind in "di"), kind, flags, width, precision)

    return _CONVERSION.sub(convert, text), taken


def _integer(number: int, kind: str, flags: str, width: str | None, precision: str | None) -> str:
    """An integer as C formats it (C, 7.21.6.1), where Python's `%` differs: signs of unsigned numbers, zeros beside a
    precision, no digits of a zero, prefixes."""
    digits = f"{abs(number):{kind if kind in 'oxX' else 'd'}}"
    if precision is not None:
        flags = flags.replace("0", "")
        digits = digits.zfill(int(precision)) if number or int(precision) else ""
    sign = ""
    if kind in "di":
        sign = "-" if number < 0 else "+" if "+" in flags else " " if " " in flags else ""
    elif "#" in flags and kind in "xX" and number:
        sign = f"0{kind}"
    elif "#" in flags and kind == "o" and not digits.startswith("0"):
        digits = "0" + digits
    length = abs(int(width or 0))
    if "-" in flags or (width or "").startswith("-"):
        return (sign + digits).ljust(length)
    if "0" in flags:
        return sign + digits.zfill(length - len(sign))
    return (sign + digits).rjust(length)


def _as_text(value: float, kind: str, flags: str) -> str:
    """A float by %a, with all digits whatever the precision, but without the zeros at its end that Python prints.

    Infinity and NaN by any conversion.
    """
    mantissa, mark, exponent = value.hex().partition("p")
    if mark:
        mantissa = mantissa.rstrip("0").removesuffix(".") if "." in mantissa else mantissa
    sign = "-" if math.copysign(1, value) < 0 else "+" if "+" in flags else " " if " " in flags else ""
    text = sign + mantissa.removeprefix("-") + mark + exponent
    return text.upper() if kind.isupper() else text


def vprintf(warp: Warp, mask: Mask, arguments: list[Variable], results: list[Variable]) -> None:
    """vprintf(format, arguments), in lane order; appends the text to the launch's output.

    The result is the number of arguments (CUDA C++ Programming Guide, "Formatted Output").
    """
    texts: dict[int, str] = {}
    for lane in map(int, mask.lanes):
        address = _argument(warp, lane, arguments[0])
        # Byte by byte, so only once: the lanes of a warp print the same format.
        text = texts[address] if address in texts else texts.setdefault(address, _text(warp, lane, address))
        line, taken = _format(warp, lane, text, _argument(warp, lane, arguments[1]))
        _print(warp, line)
        _give(warp, mask_of(1 << lane), results, taken)


def _print(warp: Warp, line: str) -> None:
    launch = warp.cta.cluster.launch
    printed = launch.state.get("printed", 0)
    if printed <= MOST_OUTPUT:
        printed += len(line)
        launch.output.append(line if printed <= MOST_OUTPUT else "[output beyond 1 MiB is omitted]\n")
        launch.state["printed"] = printed


def malloc(warp: Warp, mask: Mask, arguments: list[Variable], results: list[Variable]) -> None:
    """malloc(bytes): uninitialized memory, aligned to 16 bytes; 0 if the heap is exhausted."""
    launch = warp.cta.cluster.launch
    heap: dict[int, Buffer] = launch.state.setdefault("heap", {})
    for lane in map(int, mask.lanes):
        size = _argument(warp, lane, arguments[0])
        address = 0
        if 0 < size <= HEAP_BYTES - sum(buffer.size for buffer in heap.values()):
            buffer = launch.memory.allocate(np.full(size, POISON, np.uint8), "memory from malloc")
            buffer.flags()[:] = UNINITIALIZED
            heap[buffer.base] = buffer
            address = buffer.base
        _give(warp, mask_of(1 << lane), results, address)


def free(warp: Warp, mask: Mask, arguments: list[Variable], results: list[Variable]) -> None:
    """free(address): releases memory that malloc returned; does nothing for 0."""
    launch = warp.cta.cluster.launch
    heap: dict[int, Buffer] = launch.state.setdefault("heap", {})
    for lane in map(int, mask.lanes):
        address = _argument(warp, lane, arguments[0])
        buffer = heap.pop(address, None)
        if buffer is not None:
            launch.memory.release(buffer)
        elif address:
            warp.report(
                "illegal", f"free of {address:#x}, which was not allocated by malloc", mask_of(1 << lane)
            )


def assertfail(warp: Warp, mask: Mask, arguments: list[Variable], results: list[Variable]) -> Outcome:
    """__assertfail(message, file, line, function, char size): reports a finding and exits the lanes."""
    lane = mask.first
    message, file, line, function = (_argument(warp, lane, argument) for argument in arguments[:4])
    place = f"{_text(warp, lane, file)}:{line}"
    warp.report(
        "assert", f"{place}: {_text(warp, lane, function)}: `{_text(warp, lane, message)}` failed", mask
    )
    return warp.leave(mask)


BUILTINS: dict[str, Builtin] = {
    "vprintf": vprintf,
    "__assertfail": assertfail,
    "malloc": malloc,
    "free": free,
}
"""Builtins by name; each returns what an instruction returns."""
