"""Running other programs under a time limit."""

from __future__ import annotations

import os
import time

import pytest

from tessera_tools.emit.process import run, signal_name

SH = "/bin/sh"


def gone(pid: int) -> bool:
    """Whether the process has ended; an orphan is reaped by init, which may take a moment."""
    for _ in range(100):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def test_status_and_both_streams_come_back():
    done = run([SH, "-c", "echo out; echo err >&2; exit 3"], time_limit=20)
    assert (done.status, done.signal, done.timed_out, done.succeeded) == (3, None, False, False)
    assert (done.stdout, done.stderr, done.text) == (b"out\n", b"err\n", "out\nerr\n")


def test_a_signal_is_told_from_a_status():
    done = run([SH, "-c", "kill -ABRT $$"], time_limit=20)
    assert done.status is None
    assert signal_name(done.signal or 0) == "SIGABRT"


def test_a_signal_without_a_name_is_told_by_number():
    assert signal_name(63) == "signal 63"


def test_more_output_than_a_pipe_holds_comes_back():
    done = run([SH, "-c", "head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2"], time_limit=20)
    assert (len(done.stdout), len(done.stderr)) == (1000000, 1000000)


def test_stdin_is_empty():
    assert run([SH, "-c", "cat"], time_limit=20).succeeded


def test_a_hanging_program_is_ended_with_all_it_started():
    done = run([SH, "-c", "sleep 1000 & echo $! $$; wait"], time_limit=0.5)
    assert done.timed_out
    assert not done.succeeded
    assert done.seconds < 15
    assert all(gone(int(pid)) for pid in done.stdout.split())


def test_a_program_that_closes_its_streams_and_hangs_is_ended():
    done = run([SH, "-c", "exec >&- 2>&-; sleep 1000"], time_limit=0.5)
    assert done.timed_out


def test_a_program_that_is_not_there_is_an_os_error():
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(FileNotFoundError):
        run(["/no/such/program"], time_limit=1)
    assert len(os.listdir("/proc/self/fd")) == before


def test_no_descriptor_is_left_open():
    before = len(os.listdir("/proc/self/fd"))
    run([SH, "-c", ":"], time_limit=20)
    assert len(os.listdir("/proc/self/fd")) == before
