"""What a client sends that is no message: an error in bounded time and memory."""

from __future__ import annotations

import io
import json
import os
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tessera_tools.cli.lsp_stream import LARGEST_MESSAGE, Messages
from tessera_tools.process import Finished, run_forked


def message(value: Any) -> bytes:
    data = json.dumps(value).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(data), data)


def read(raw: bytes) -> tuple[list[bytes], str]:
    """The bodies of all messages, and the error that follows them."""
    messages = Messages(io.BytesIO(raw))
    bodies: list[bytes] = []
    while line := messages.readline():
        assert messages.readline() == b"\r\n"
        size = int(line.removeprefix(b"Content-Length: "))
        bodies.append(messages.read(size))
        assert len(bodies[-1]) == size
    return bodies, str(messages.failure or "")


def test_messages_are_read_one_after_the_other() -> None:
    assert read(message(1) + message([2, 3])) == ([b"1", b"[2, 3]"], "")


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 2\r\n\r\n",
        b"content-length:2\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 2\n\n",
        b"Content-Length: 000000002\r\n\r\n",
    ],
)
def test_headers_that_are_read(header: bytes) -> None:
    assert read(header + b"{}" + header + b"[]") == ([b"{}", b"[]"], "")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"Content-Length: -5\r\n\r\n{}", "found 'Content-Length: -5', expected a number of bytes"),
        (b"Content-Length: two\r\n\r\n{}", "found 'Content-Length: two', expected a number of bytes"),
        ("Content-Length: ²\r\n\r\n".encode(), "expected a number of bytes"),
        (b"Content-Length: 1e3\r\n\r\n{}", "expected a number of bytes"),
        (b"Content-Length:\r\n\r\n{}", "expected a number of bytes"),
        (b"Content-Length: 0\r\n\r\n", "expected at least one byte"),
        (b"Content-Length: 99999999999\r\n\r\n{}", f"expected at most {LARGEST_MESSAGE} bytes"),
        (b"Content-Length: " + b"9" * 4000 + b"\r\n\r\n{}", f"expected at most {LARGEST_MESSAGE} bytes"),
        (b"Content-Type: x\r\n\r\n{}", "found the end of the headers, expected the header 'Content-Length'"),
        (b"\r\n\r\n{}", "expected the header 'Content-Length'"),
        (b'{"jsonrpc": "2.0"}\n', "expected a header such as 'Content-Length: 52'"),
        (b"{" * 5_000_000, "expected the end of the line"),
        (b"X: y\r\n" * 1000, "expected at most 64 headers"),
        (b"Content-Length: 5", "expected the end of the line"),
        (b"Content-Length: 5\r\n", "the input ends in the headers of a message"),
        (b"Content-Length: 5\r\n\r\n{}", "the input ends in a message: found 2 bytes, expected 5"),
        (b"\xff\xfe: \x00\n\n", "expected a header such as 'Content-Length: 52'"),
    ],
)  # fmt: skip
def test_what_is_no_message_is_an_error(raw: bytes, expected: str) -> None:
    bodies, failure = read(message(1) + raw)
    assert bodies == [b"1"]
    assert expected in failure


def serve(raw: bytes) -> Finished:
    """Run the server with a limit on its memory, in a copy of this process: a program would load pygls each time."""
    pytest.importorskip("pygls")
    from tessera_tools.cli import lsp, lsp_server  # noqa: F401

    def body() -> NoReturn:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + (1 << 30)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        os.dup2(file.fileno(), 0)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        sys.argv[:] = ["tessera-lsp"]
        lsp.main()

    with tempfile.TemporaryFile() as file:
        file.write(raw)
        file.seek(0)
        return run_forked(body, time_limit=60)


@pytest.mark.parametrize(
    "raw",
    [
        b"Content-Length: 8000000000\r\n\r\n{}",
        b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"Content-Length: -1\r\n\r\n{}",
        b"\x00" * (64 << 20),
    ],
    ids=["huge", "digits", "negative", "zeros"],
)
def test_the_server_ends_with_an_error(raw: bytes) -> None:
    done = serve(raw)
    assert done.status == 1
    assert done.stdout == b""
    assert done.stderr.startswith(b"error: the header of a message: found ")
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "body",
    [b"no JSON", b"\xff\xfe", b"3", b"null", b"[]", b"[1, {}]", b"{}", b'{"jsonrpc": "1.0", "id": 1}', b"[" * 100_000,
     b'{"jsonrpc": "2.0", "id": {}, "method": 3}', b'{"jsonrpc": "2.0", "id": 1, "result": 2}',
     b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": 7}'],
    ids=lambda body: body[:12].decode("ascii", "replace"),
)  # fmt: skip
def test_a_body_that_is_no_request_leaves_the_server_alive(body: bytes) -> None:
    raw = b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    ask = {"jsonrpc": "2.0", "id": 99, "method": "initialize", "params": {"capabilities": {}}}
    close = [{"jsonrpc": "2.0", "id": 100, "method": "shutdown"}, {"jsonrpc": "2.0", "method": "exit"}]
    done = serve(raw + message(ask) + b"".join(map(message, close)))
    assert b'"id": 99' in done.stdout or b'"id":99' in done.stdout
    assert b"Traceback" not in done.stderr
    assert done.status == 0
