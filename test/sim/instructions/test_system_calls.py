"""What the driver supplies to kernels: memory from the heap, printing."""

from __future__ import annotations

import numpy as np
import pytest
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


def printed(text: bytes, value: int) -> str:
    """What every lane prints by the format `text` and two integers of that value."""
    module = f"""
.global .align 1 .b8 text[{len(text) + 1}] = {{{", ".join(map(str, text))}, 0}};
.extern .func (.param .b32 count) vprintf (.param .b64 format, .param .b64 arguments);
"""
    body = f"""
  .local .align 8 .b8 buffer[8];
  mov.b32 %r0, {value}; st.local.u32 [buffer], %r0; st.local.u32 [buffer+4], %r0;
  mov.u64 %rd1, buffer; cvta.local.u64 %rd1, %rd1; mov.u64 %rd2, text; cvta.global.u64 %rd2, %rd2;
  {{ .param .b64 format; .param .b64 arguments; .param .b32 count;
    st.param.b64 [format], %rd2; st.param.b64 [arguments], %rd1; call.uni (count), vprintf, (format, arguments); }}
"""
    result, _ = run(kernel(body, module=module), np.zeros(1, np.uint32))
    return result.output


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
    assert printed(b"%*d|", -4).startswith("-4  |")
    assert printed(b"%.*d|", -4).startswith("-4|")
    assert len(printed(b"%*d|", -(1 << 31))) <= 2 * MOST_OUTPUT + 100
