"""Reading ptxas's report, in the forms of several releases."""

from __future__ import annotations

from tessera_tools.emit.resources import Message, Resources, parse_report, spill_warning

CUDA_13 = """\
ptxas info    : 128 bytes gmem, 64 bytes cmem[3]
ptxas info    : Compiling entry function 'k2' for 'sm_90a'
ptxas info    : Function properties for k2
    256 bytes stack frame, 40 bytes spill stores, 44 bytes spill loads
ptxas info    : Used 255 registers, used 4 barriers, 272 bytes cumulative stack size, 2048 bytes smem
ptxas info    : Compile time = 26.113 ms
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized in 'k'
ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 1 barriers, 360 bytes cmem[0], 8 bytes cmem[2], 1 textures
ptxas info    : Compile time = 3.407 ms
"""
CUDA_11 = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z1kPf' for 'sm_80'
ptxas info    : Function properties for _Z1kPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 1 register, 1024+16 bytes smem, 360+8 bytes lmem, 368 bytes cmem[0]
"""


def test_each_entry_has_its_resources():
    report = parse_report(CUDA_13)
    assert report.entries == {
        "k2": Resources(
            255, 4, 2048, stack=256, cumulative_stack=272, spill_stores=40, spill_loads=44, is_entry=True
        ),
        "k": Resources(8, 1, constants={0: 360, 2: 8}, textures=1, is_entry=True),
    }


def test_the_module_has_its_own():
    report = parse_report(CUDA_13)
    assert (report.global_bytes, report.constants) == (128, {3: 64})


def test_what_is_no_resource_is_a_message():
    assert [message.text[:7] for message in parse_report(CUDA_13).messages] == ["(C7510)"]


def test_older_releases_are_read():
    assert parse_report(CUDA_11).functions == {
        "_Z1kPf": Resources(1, shared=1040, local=368, constants={0: 368}, is_entry=True)
    }


def test_device_functions_are_listed_but_are_no_entries():
    text = (
        "ptxas info    : Function properties for 'f'\n"
        "    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    )
    report = parse_report(text)
    assert report.functions == {"f": Resources(stack=8)}
    assert not report.entries


def test_messages_have_severity_and_line():
    text = (
        "ptxas /x y/k.ptx, line 14; error   : Unknown symbol 'sm2'\n"
        "ptxas k.ptx, line 3; warning : Instruction 'x' is deprecated\n"
        "ptxas fatal   : Ptx assembly aborted due to errors\n"
    )
    assert parse_report(text).messages == [
        Message("error", "Unknown symbol 'sm2'", 14),
        Message("warning", "Instruction 'x' is deprecated", 3),
        Message("fatal", "Ptx assembly aborted due to errors"),
    ]


def test_garbage_is_kept_as_it_is():
    assert parse_report("Segmentation fault\n\n").messages == [Message("info", "Segmentation fault")]


def test_a_truncated_report_is_no_fault():
    for end in range(len(CUDA_13)):
        parse_report(CUDA_13[:end])


def test_a_spill_gets_a_warning_with_its_size():
    report = parse_report(CUDA_13)
    assert spill_warning("k", report.functions["k"]) is None
    warning = spill_warning("k2", report.functions["k2"])
    assert warning is not None
    assert "40 bytes of spill stores and 44 bytes of spill loads per thread, at 255 registers" in warning
