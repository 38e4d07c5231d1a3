"""What the driver supplies to kernels: memory from the heap, printing."""

from __future__ import annotations

import ctypes
import random
from typing import Any

import numpy as np
import pytest
from programs import fresh_seed
from sim.kernels import kernel, run

from tessera_tools.sim.builtins import HEAP_BYTES, MOST_OUTPUT

HEAP = """
.extern .func (.param .b64 found) malloc (.param .b64 bytes);
.extern .func free (.param .b64 address);
"""


def _malloc(size: int) -> str:
    """%rd1 = malloc(size)"""
    return f"""
  mov.u64 %rd2, {size};
  {{ .param .b64 bytes; .param .b64 found; st.param.b64 [bytes], %rd2;
    call.uni (found), malloc, (bytes); ld.param.b64 %rd1, [found]; }}
"""


_FREE = "  { .param .b64 address; st.param.b64 [address], %rd1; call.uni free, (address); }\n"


def test_every_thread_gets_memory_of_its_own_from_malloc() -> None:
    body = f"""
{_malloc(8)}
  mov.u32 %r0, %tid.x; mul.wide.u32 %rd3, %r0, 8; add.u64 %rd3, %rd0, %rd3;
  st.u32 [%rd1], %r0; st.global.u64 [%rd3], %rd1; ld.u32 %r1, [%rd1]; setp.ne.u32 %p0, %r0, %r1; @%p0 trap;
{_FREE}
"""
    result, (addresses,) = run(kernel(body, module=HEAP), np.zeros(32, np.uint64))
    assert not result.findings, result.findings.text()
    assert len(set(addresses.tolist())) == 32
    assert not np.any(addresses % 16)


def test_malloc_gives_null_where_the_heap_is_used_up_and_free_makes_room() -> None:
    body = f"""
{_malloc(HEAP_BYTES)} st.global.u64 [%rd0], %rd1; mov.u64 %rd4, %rd1;
{_malloc(1)} st.global.u64 [%rd0+8], %rd1; mov.u64 %rd1, %rd4;
{_FREE}
{_malloc(1)} st.global.u64 [%rd0+16], %rd1;
"""
    result, (found,) = run(kernel(body, module=HEAP), np.ones(3, np.uint64), block=(1,))
    assert not result.findings, result.findings.text()
    assert found[0] != 0
    assert found[1] == 0
    assert found[2] != 0


def test_memory_from_malloc_that_nobody_wrote_is_uninitialized() -> None:
    result, _ = run(
        kernel(f"{_malloc(8)} ld.u32 %r0, [%rd1]; st.global.u32 [%rd0], %r0;", module=HEAP),
        np.zeros(1, np.uint32),
        block=(1,),
    )
    (finding,) = result.findings
    assert finding.kind == "uninitialized"
    assert "memory from malloc" in finding.message


def test_what_was_given_back_is_nowhere() -> None:
    result, _ = run(
        kernel(f"{_malloc(8)} {_FREE} mov.u32 %r0, 1; st.u32 [%rd1], %r0;", module=HEAP),
        np.zeros(1, np.uint32),
        block=(1,),
    )
    (finding,) = result.findings
    assert finding.kind == "out-of-bounds"


def test_only_what_malloc_gave_is_freed() -> None:
    result, _ = run(kernel(f"  mov.u64 %rd1, %rd0; {_FREE}", module=HEAP), np.zeros(1, np.uint32), block=(1,))
    (finding,) = result.findings
    assert finding.kind == "illegal"
    assert "which was not allocated by malloc" in finding.message


def test_free_of_null_does_nothing() -> None:
    result, _ = run(kernel(f"  mov.u64 %rd1, 0; {_FREE}", module=HEAP), np.zeros(1, np.uint32))
    assert not result.findings


def printed(text: bytes, *words: int, lanes: int = 32) -> str:
    """What the lanes print by the format `text` and arguments of these words of 32 bits."""
    module = f"""
.global .align 1 .b8 text[{len(text) + 1}] = {{{", ".join(map(str, text))}, 0}};
.extern .func (.param .b32 count) vprintf (.param .b64 format, .param .b64 arguments);
"""
    stores = "".join(f"mov.b32 %r0, {w}; st.local.u32 [buffer+{4 * n}], %r0; " for n, w in enumerate(words))
    body = f"""
  .local .align 8 .b8 buffer[{4 * len(words)}];
  {stores}
  mov.u64 %rd1, buffer; cvta.local.u64 %rd1, %rd1; mov.u64 %rd2, text; cvta.global.u64 %rd2, %rd2;
  {{ .param .b64 format; .param .b64 arguments; .param .b32 count;
    st.param.b64 [format], %rd2; st.param.b64 [arguments], %rd1; call.uni (count), vprintf, (format, arguments); }}
"""
    result, _ = run(kernel(body, module=module), np.zeros(1, np.uint32), block=(lanes,))
    assert not result.findings
    return result.output


KINDS: dict[str, Any] = {
    **dict.fromkeys(("d", "i", "hd", "hhi", "c"), ctypes.c_int),
    **dict.fromkeys(("u", "x", "X", "o", "hu", "hhx"), ctypes.c_uint),
    **dict.fromkeys(("lld", "ld", "li"), ctypes.c_longlong),
    **dict.fromkeys(("llu", "lx", "llo"), ctypes.c_ulonglong),
    **dict.fromkeys(("f", "e", "E", "g", "G", "a", "A"), ctypes.c_double),
    "p": ctypes.c_void_p,
}


def random_argument(kind: str, rng: random.Random) -> Any:
    type = KINDS[kind]
    if kind == "c":
        return type(rng.randrange(33, 127))
    if type is ctypes.c_double:
        some = rng.uniform(-1e9, 1e9) * 10.0 ** rng.randrange(-12, 12)
        return type(
            rng.choice((some, float(rng.randrange(-9, 9)), float("inf"), float("nan"), -float("nan")))
        )
    size = 8 * ctypes.sizeof(type)
    number = rng.getrandbits(size) >> rng.randrange(size)
    return type(number if rng.randrange(4) else 0)


@pytest.mark.parametrize("number", range(4))
def test_printf_is_that_of_c(number: int) -> None:
    """Arguments of 4 and 8 bytes in any order, each aligned to its size; with any flags, widths and precisions."""
    rng = random.Random(fresh_seed())
    text, values, data = "", list[Any](), b""
    for kind in rng.sample(sorted(KINDS), len(KINDS)):
        precision = ""
        width = rng.choice(("", "4", "30"))
        flags = "-" * (bool(width) and rng.randrange(2))
        if kind not in "pc":
            flags += "".join(rng.sample("+ 0#", rng.randrange(3)))
            precision = rng.choice(("", "", ".", ".0", ".3", ".9")) if kind not in "aA" else ""
        if kind in "aA":
            flags = flags.replace("0", "").replace("#", "")
        text += f"[%{flags}{width}{precision}{kind}]"
        value = random_argument(kind, rng)
        data += bytes(-len(data) % ctypes.sizeof(value)) + bytes(value)
        values.append(value)
    expected = ctypes.create_string_buffer(4096)
    ctypes.CDLL(None).snprintf(expected, len(expected), text.encode(), *values)
    words = np.frombuffer(data + bytes(-len(data) % 4), np.uint32)
    assert printed(text.encode(), *map(int, words), lanes=1) == expected.value.decode(), text


def test_what_a_launch_prints_is_bounded() -> None:
    output = printed(b"%65000d\n", 7)
    assert output.startswith(" " * 64_999 + "7\n")
    assert output.endswith("[output beyond 1 MiB is omitted]\n")
    assert len(output) <= MOST_OUTPUT + 100


@pytest.mark.parametrize(
    "text", [b"%999999999999d", b"%.999999999999d", b"%-99999999d", b"%" + b"9" * 9000 + b"d"]
)
def test_a_width_beyond_what_a_launch_prints_costs_no_memory(text: bytes) -> None:
    assert len(printed(text, 7)) <= 2 * MOST_OUTPUT + 100


def test_a_negative_width_is_to_the_left_and_a_negative_precision_none() -> None:
    assert printed(b"%*d|", -4, -4).startswith("-4  |")
    assert printed(b"%.*d|", -4, -4).startswith("-4|")
    assert len(printed(b"%*d|", -(1 << 31), 7)) <= 2 * MOST_OUTPUT + 100
