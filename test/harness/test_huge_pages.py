"""Memory on huge pages holds what it held."""

from __future__ import annotations

import os

from harness.huge_pages import use_huge_pages


def test_memory_keeps_its_contents() -> None:
    block, texts = bytearray(os.urandom(8 << 20)), [str(number) for number in range(100_000)]
    before = bytes(block)
    use_huge_pages()
    assert block == before
    assert texts == [str(number) for number in range(100_000)]
    block[:] = bytes(len(block))
    assert not any(block)


def test_memory_of_a_child_is_that_at_the_fork() -> None:
    block = bytearray(os.urandom(8 << 20))
    end = bytes(block[-16:])
    use_huge_pages()
    mine, its = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.write(its, block[-16:])
        finally:
            os._exit(0)
    block[:] = bytes(len(block))
    os.waitpid(pid, 0)
    found = os.read(mine, 16)
    os.close(mine)
    os.close(its)
    assert found == end
