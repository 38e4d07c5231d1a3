"""One instruction on arrays: every thread loads its operands, runs it, and stores the result.

evaluate("add.f32 %d0, %a, %b;", "u4", x, y) ──▶ array of what each thread's %d0 held
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tessera_tools import sim

Array = Any
_NAMES = "abcdefgh"
HEADER = ".version 8.8\n.target sm_100a\n.address_size 64\n"


def module(body: str, outs: Sequence[str], ins: Sequence[Any]) -> str:
    """PTX whose entry `k` takes the arrays' addresses, results first."""
    parameters = [f".param .u64 o{n}" for n in range(len(outs))] + [
        f".param .u64 i{n}" for n in range(len(ins))
    ]
    lines = [
        ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %t<8>, %x; .reg .b64 %rd<8>, %y; .reg .b64 %at<20>;",
        "mov.u32 %t0, %tid.x; mov.u32 %t1, %ctaid.x; mov.u32 %t2, %ntid.x; mad.lo.s32 %t0, %t1, %t2, %t0;",
    ]
    for number, array in enumerate(ins):
        size = np.dtype(array.dtype).itemsize
        lines.append(f".reg .b{max(8 * size, 16)} %{_NAMES[number]};")
        lines.append(f"ld.param.u64 %rd0, [i{number}]; mad.wide.u32 %rd0, %t0, {size}, %rd0;")
        lines.append(f"ld.global.b{8 * size} %{_NAMES[number]}, [%rd0];")
    for number, out in enumerate(outs):
        size = np.dtype(out).itemsize
        lines.append(f".reg .b{max(8 * size, 16)} %d{number};")
        lines.append(
            f"ld.param.u64 %at{number}, [o{number}]; mad.wide.u32 %at{number}, %t0, {size}, %at{number};"
        )
    lines.append(body)
    for number, out in enumerate(outs):
        lines.append(f"st.global.b{8 * np.dtype(out).itemsize} [%at{number}], %d{number};")
    text = "\n".join(lines)
    return f"{HEADER}.visible .entry k({', '.join(parameters)}) {{\n{text}\nret;\n}}\n"


def evaluate_all(body: str, outs: Sequence[str], *arrays: Array) -> list[Array]:
    """The results of every thread; one thread per element of the (equally long) arrays."""
    count = len(arrays[0])
    padded = -(-count // 32) * 32
    inputs = [
        np.concatenate([a, np.repeat(a[:1], padded - count)]) for a in map(np.ascontiguousarray, arrays)
    ]
    loaded = sim.load(module(body, outs, inputs), file="k.ptx")
    results = [loaded.memory.allocate(np.zeros(padded, out), f"out {n}") for n, out in enumerate(outs)]
    given = [loaded.memory.allocate(a, f"in {n}") for n, a in enumerate(inputs)]
    block = next(size for size in (256, 128, 64, 32) if padded % size == 0)
    result = loaded.launch("k", (padded // block,), (block,), [*results, *given])
    assert not result.findings, result.findings.text("k.ptx")
    return [buffer.array()[:count] for buffer in results]


def evaluate(body: str, out: str, *arrays: Array) -> Array:
    """As `evaluate_all`, for one result."""
    return evaluate_all(body, [out], *arrays)[0]


def refused(body: str) -> str:
    """The message with which an instruction is refused at load; it may use %r0…, %rd0…, %f…, %p0…."""
    text = (
        f"{HEADER}.visible .entry k() {{\n.reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<16>, %f<8>; "
        f".reg .b64 %rd<16>; .reg .f64 %fd<8>; .shared .align 16 .b8 s[64];\n{body}\nret;\n}}\n"
    )
    from tessera_tools.diagnostics import DiagnosticError

    try:
        sim.load(text, file="k.ptx")
    except DiagnosticError as caught:
        return str(caught)
    raise AssertionError(f"accepted: {body}")
