"""`tessera-play` as a process, and requests to it as a browser sends them, or as others do."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import threading
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

__all__ = ["PlayServer"]

_SECONDS = 300
_ALONE = """
import json
from tessera_tools.cli import play, play_worker
from tessera_tools.cli.play_pool import Pool
from tessera_tools.emit.worker import preload

answers = {}

async def answer(self, request):
    if request not in answers:
        answers[request] = json.dumps(play_worker.answer(json.loads(request))).encode()
    return answers[request]

Pool.start, Pool.answer = lambda self: None, answer
preload()
play.main()
"""


class PlayServer:
    """A server on a free port, ended with the `with` block.

    alone: it starts no process for a request, and computes what is asked again once. For tests of the page, which asks
    the same again and again. A run writes the program into `cwd`.
    """

    def __init__(self, *arguments: str, cwd: str | None = None, alone: bool = False) -> None:
        program = ["-c", _ALONE] if alone else ["-m", "tessera_tools.cli.play"]
        self.process = subprocess.Popen(
            [sys.executable, *program, "--port=0", *arguments],
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
        )
        assert self.process.stderr is not None
        self.url = self.process.stderr.readline().strip()
        if not self.url.startswith("http"):
            raise AssertionError(self.url + self.process.stderr.read())
        self.host = urlsplit(self.url).netloc
        self.said: list[str] = []
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        self.said += self.process.stderr

    def __enter__(self) -> PlayServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> int:
        """End the server as Ctrl-C does; returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        status = self.process.wait(60)
        self._listener.join(60)
        return status

    def connect(self) -> http.client.HTTPConnection:
        """A connection of its own."""
        place = urlsplit(self.url)
        assert place.hostname is not None
        return http.client.HTTPConnection(place.hostname, place.port, timeout=_SECONDS)

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """(status, headers, body) of the answer; headers whose value is empty are not sent."""
        connection = self.connect()
        sent = {"Host": self.host, **(headers or {})}
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        if body is not None:
            sent["Content-Length"] = str(len(body))
        for name, value in sent.items():
            if value:
                connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        connection.close()
        return found

    def post(self, body: bytes, **headers: str) -> tuple[int, bytes]:
        """(status, body) of a compilation, with the headers that the page sends, or others."""
        sent = {"Origin": f"http://{self.host}", "Content-Type": "application/json"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        status, _, text = self.request("POST", "/compile", body, sent)
        return status, text

    def ask(self, program: str, **more: Any) -> dict[str, Any]:
        """What the page gets for a program."""
        status, text = self.post(json.dumps({"program": program, **more}).encode())
        assert status == 200, (status, text)
        return json.loads(text)
