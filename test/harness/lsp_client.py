"""A client of a language server on stdin and stdout, for tests: `client.request("textDocument/hover", …)`."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

_SECONDS = 60
"""How long a test waits for an answer; a server that hangs fails the test."""


class Client:
    """Starts a server and speaks with it."""

    def __init__(self, *options: str, encodings: tuple[str, ...] = ("utf-16",), settings: Any = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tessera_tools.cli.lsp", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.received: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.notifications: list[dict[str, Any]] = []
        self.garbage = b""
        """What the server printed besides the protocol."""
        self.errors = bytearray()
        self._number = 0
        self._version = 0
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._read_errors, daemon=True).start()
        self.initialized = self.request(
            "initialize",
            {
                "processId": None,
                "rootUri": None,
                "capabilities": {"general": {"positionEncodings": list(encodings)}},
                "initializationOptions": settings,
            },
        )
        self.notify("initialized", {})

    def _read(self) -> None:
        stdout = self.process.stdout
        assert stdout is not None
        while True:
            size = -1
            while (line := stdout.readline()) not in (b"", b"\r\n"):
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    size = int(value)
                elif name.lower() != b"content-type":
                    self.garbage += line
            if not line or size < 0:
                break
            self.received.put(json.loads(stdout.read(size)))
        self.received.put(None)

    def _read_errors(self) -> None:
        stderr = self.process.stderr
        assert stderr is not None
        while chunk := os.read(stderr.fileno(), 1 << 16):
            self.errors += chunk

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        stdin = self.process.stdin
        assert stdin is not None
        stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        stdin.flush()

    def _receive(self) -> dict[str, Any]:
        message = self.received.get(timeout=_SECONDS)
        assert message is not None, f"the server ended: {bytes(self.errors).decode()}"
        if "method" in message:
            self.notifications.append(message)
            if "id" in message:
                self._send({"id": message["id"], "result": None})
        return message

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def ask(self, method: str, params: Any) -> dict[str, Any]:
        """Send a request; returns the response, with `result` or `error`."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            message = self._receive()
            if message.get("id") == self._number and "method" not in message:
                return message

    def request(self, method: str, params: Any) -> Any:
        """Send a request; returns its result."""
        answer = self.ask(method, params)
        assert "error" not in answer, answer
        return answer["result"]

    def wait(self, method: str, wanted: Callable[[Any], bool] = lambda params: True) -> Any:
        """The parameters of the next notification of that kind which is wanted; earlier ones count, once."""
        while True:
            for number, message in enumerate(self.notifications):
                if message["method"] == method and wanted(message["params"]):
                    del self.notifications[number]
                    return message["params"]
            self._receive()

    # -- documents

    def open(self, uri: str, text: str, language: str = "mlir") -> None:
        """Open a document."""
        self._version += 1
        item = {"uri": uri, "languageId": language, "version": self._version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, uri: str, *changes: dict[str, Any]) -> None:
        """Change a document."""
        self._version += 1
        document = {"uri": uri, "version": self._version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": list(changes)})

    def diagnostics(self, uri: str) -> list[dict[str, Any]]:
        """The diagnostics of the newest version of a document."""
        found = self.wait(
            "textDocument/publishDiagnostics",
            lambda params: params["uri"] == uri and params.get("version") == self._version,
        )
        return found["diagnostics"]

    def at(self, uri: str, line: int, character: int, **more: Any) -> dict[str, Any]:
        """The parameters of a request about a position."""
        return {
            "textDocument": {"uri": uri},
            "position": {"line": line, "character": character},
            **more,
        }

    def close(self) -> int:
        """End the server; returns its exit status."""
        if self.process.poll() is None:
            self.request("shutdown", None)
            self.notify("exit", None)
        status = self.process.wait(timeout=_SECONDS)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None and stream is not self.process.stderr:
                stream.close()
        return status
