"""`tessera-play` as a browser, another site, and a hostile program see it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.play_server import PlayServer
from tessera_tools.cli import play

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

ROOT = Path(__file__).resolve().parents[2]
VECTOR_ADD = (ROOT / "examples" / "vector_add.mlir").read_text()
EMPTY = "entry @k() {\n  return\n}\n"
LONG: dict[str, Any] = {"program": VECTOR_ADD, "run": True, "running": {"grid": "1000000,1,1"}}
"""A request that takes hours."""
ENDLESS: dict[str, Any] = {
    "program": """entry @k(%p: tile<ptr<i32>>) {
  loop {
    %zero = constant <i32: 0> : tile<i32>
    %token = store_ptr_tko weak %p, %zero : tile<ptr<i32>>, tile<i32> -> token
    continue
  }
  return
}
""",
    "run": True,
    "arguments": "p=zeros:i32:4",
}
"""A kernel whose loop has no end."""


@pytest.fixture(scope="module")
def server() -> Iterator[PlayServer]:
    with PlayServer("--time-limit=240") as started:
        yield started
        assert started.close() == 0
        assert not any("Traceback" in line for line in started.said)


def messages(answer: dict[str, Any]) -> list[str]:
    return [one["message"] for one in answer["diagnostics"]]


def test_a_program_is_compiled_and_run(server: PlayServer) -> None:
    answer = server.ask(VECTOR_ADD, options={"gpu-name": "sm_90"}, run=True)
    assert answer["diagnostics"] == []
    assert "ptx" in [stage["id"] for stage in answer["data"]["stages"]]
    assert answer["run"]["status"] == 0


def test_a_run_has_a_limit_on_memory(server: PlayServer) -> None:
    large = "\n".join(f"{name}=zeros:f32:8000000000\ni32:1\ni32:1" for name in "abc")
    answer = server.ask(VECTOR_ADD, run=True, arguments=large)
    assert answer["run"]["status"] == 1
    assert "out of memory" in answer["run"]["output"]


@pytest.mark.parametrize("request_body", [LONG, ENDLESS], ids=["long", "endless"])
def test_what_takes_too_long_is_stopped_and_leaves_nothing(
    request_body: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with PlayServer("--time-limit=3") as server:
        answer = server.ask(**request_body)
        assert answer == {"failed": "stopped after 3 s; --time-limit allows more"}
        pid = server.process.pid
        assert server.close() == 0
    assert workers_of(pid) == []
    assert list(tmp_path.iterdir()) == []


def workers_of(pid: int) -> list[int]:
    """The processes of a server that have a request, or wait for one, and their own."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            try:
                text = Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue
            parents[int(entry)] = int(text.rpartition(")")[2].split()[1])
    direct = [one for one, parent in parents.items() if parent == pid]
    return direct + [one for one, parent in parents.items() if parent in direct]


def eventually(condition: Any) -> bool:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_a_client_that_leaves_ends_its_request() -> None:
    with PlayServer("--time-limit=3000", "--parallel=1") as server:
        assert server.ask(EMPTY)["diagnostics"] == []
        before = set(workers_of(server.process.pid))
        connection = server.connect()
        headers = {"Origin": f"http://{server.host}", "Content-Type": "application/json"}
        body = json.dumps(LONG)
        connection.request("POST", "/compile", body, headers)
        # The waiting process takes the request, and another one starts.
        assert eventually(lambda: set(workers_of(server.process.pid)) - before)
        connection.close()
        assert eventually(lambda: not before & set(workers_of(server.process.pid)))
        assert server.ask(EMPTY)["diagnostics"] == []  # the only place is free again


def test_the_processes_end_with_a_server_that_is_killed() -> None:
    server = PlayServer()
    assert eventually(lambda: workers_of(server.process.pid))
    workers = workers_of(server.process.pid)
    server.process.kill()
    server.process.wait()
    assert eventually(lambda: not any(Path(f"/proc/{one}").exists() for one in workers))


# -- other sites, and large or broken requests


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "192.0.2.1", ""]
)
def test_a_request_for_another_host_is_refused(server: PlayServer, host: str) -> None:
    status, _, _ = server.request("GET", "/", headers={"Host": host})
    assert status in (400, 421)


def test_the_names_of_this_machine_are_served(server: PlayServer) -> None:
    port = server.host.rpartition(":")[2]
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}", "localhost:1"):
        assert server.request("GET", "/", headers={"Host": host})[0] == 200, host


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Content_Type": "text/plain"},
        {"Content_Type": "application/x-www-form-urlencoded"},
    ],
)
def test_a_request_of_another_site_is_refused(server: PlayServer, headers: dict[str, str]) -> None:
    status, text = server.post(json.dumps({"program": EMPTY}).encode(), **headers)
    assert status == 403
    assert b"stages" not in text


def test_the_page_allows_nothing_from_elsewhere(server: PlayServer) -> None:
    status, headers, text = server.request("GET", "/")
    assert status == 200
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in headers
    assert re.findall(r'(?:src|href)="([^"/][^"]*)"', text.decode()) == ["data:,"]
    assert b"style=" not in text


def test_large_and_broken_requests_are_refused(server: PlayServer) -> None:
    assert server.post(b"x" * (3 << 20))[0] == 413
    assert server.post(json.dumps({"program": "x" * ((1 << 20) + 1)}).encode())[0] == 413
    assert server.post(json.dumps({"program": "x" * 10_000_000}).encode())[0] == 413
    for body in (b"", b"x", b"[]", b"[" * 100_000, b'{"program": 1' + b"0" * 5000 + b"}", b"\xff"):
        assert server.post(body)[0] == 400, body[:20]
    answer = json.loads(server.post(b'{"program": 1}')[1])
    assert messages(answer) == ["the request's 'program' is not a text"]


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/../play.py", "/play.py", "/examples/..%2f..%2fpyproject.toml", "/examples/x"]
)
def test_only_the_files_of_the_page_are_served(server: PlayServer, path: str) -> None:
    assert server.request("GET", path)[0] == 404


def test_every_example_is_served(server: PlayServer) -> None:
    assert server.request("GET", "/examples/vector_add.mlir")[2].decode() == VECTOR_ADD
    page = server.request("GET", "/")[2].decode()
    for path in (ROOT / "examples").glob("*.mlir"):
        assert path.name in page


def test_requests_beyond_the_limit_wait_or_are_refused() -> None:
    with PlayServer("--parallel=1", "--time-limit=300") as server:
        headers = {"Origin": f"http://{server.host}", "Content-Type": "application/json"}
        body = json.dumps(LONG)
        held = [server.connect() for _ in range(9)]
        for one in held:
            one.request("POST", "/compile", body, headers)
        assert eventually(lambda: server.post(json.dumps({"program": EMPTY}).encode())[0] == 503)
        assert len(workers_of(server.process.pid)) < 8
        for one in held:
            one.close()
        # Those that waited for their turn have left, too.
        assert eventually(lambda: server.post(json.dumps({"program": EMPTY}).encode())[0] == 200)


# -- the command


def test_the_file_of_the_command_line_is_on_the_page(tmp_path: Path) -> None:
    path = tmp_path / "mine.mlir"
    path.write_text(f"// </script><script>alert(1)</script>\n{EMPTY}")
    with PlayServer(str(path)) as server:
        page = server.request("GET", "/")[2].decode()
        assert "mine.mlir" in page
        assert "</script><script>alert" not in page
        path.write_text("// changed\n")
        assert "// changed" in server.request("GET", "/")[2].decode()


def test_bytecode_becomes_text(tmp_path: Path) -> None:
    from tessera_tools.cli import translate

    done = translate.run(["--mlir-to-cudatilebc", "-o", str(tmp_path / "k.tileirbc")], VECTOR_ADD.encode())
    assert done.exit_code == 0
    with PlayServer(str(tmp_path / "k.tileirbc")) as server:
        assert "entry @vector_add" in server.request("GET", "/")[2].decode()


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = play.run([f"--port={port}"])
    assert done.exit_code == 1
    assert done.stderr.decode() == (
        f"error: cannot listen on 127.0.0.1:{port}: address already in use\nnote: --port=0 takes any free port\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.mlir"], "cannot open input file 'missing.mlir'"),
        (["--port=70000"], "70000"),
        (["--memory-limit=1024"], "2048"),
        (["--host=nowhere.invalid"], "--host expects an address of this machine"),
    ],
)
def test_a_wrong_command_line_is_an_error(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = play.run(arguments, cwd=str(tmp_path))
    assert done.exit_code == 1
    assert message in done.stderr.decode()


def test_a_port_that_is_in_use_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = play.run([f"--port={taken.getsockname()[1]}"])
    assert done.exit_code == 1
    assert b"address already in use" in done.stderr
    assert b"--port=0 takes any free port" in done.stderr


def test_without_the_extra_the_error_names_it() -> None:
    code = (
        "import sys; sys.modules['uvicorn'] = None\n"
        "import importlib.util as u; found = u.find_spec\n"
        "u.find_spec = lambda n, *a: None if n == 'uvicorn' else found(n, *a)\n"
        "from tessera_tools.cli import play; play.find_spec = u.find_spec; sys.argv = ['tessera-play']; play.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert done.returncode == 1
    assert b"pip install 'tessera-tools[play]'" in done.stderr


def test_who_serves_others_is_warned() -> None:
    with PlayServer("--host=0.0.0.0") as server:
        assert server.url.startswith("http://localhost:")
        status, _, _ = server.request("GET", "/", headers={"Host": "192.0.2.1"})
        assert status == 200
        assert server.request("GET", "/", headers={"Host": "evil.example"})[0] == 421
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(60)
        server.close()
    assert any("everyone who reaches this address" in line for line in server.said)
