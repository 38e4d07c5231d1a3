"""The language server: the protocol on stdin and stdout, with pygls.

    editor ⇄ Server (documents, settings, debounce) ⇄ Connection ⇄ lsp_worker.py (reads, verifies, answers)

The server itself reads no program: a worker does, with limits on time and memory. A worker that exceeds a limit, or
crashes, is replaced; the editor gets a message. RUN lines, stages and Python files have a worker of their own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any, BinaryIO, cast

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from tessera_tools import __version__
from tessera_tools.cli.lsp_stream import Messages
from tessera_tools.editor.service import MOST_DOCUMENTS, Settings
from tessera_tools.editor.structure import TOKEN_MODIFIERS, TOKEN_TYPES
from tessera_tools.editor.text import Json
from tessera_tools.process import end, spawn

__all__ = ["Limits", "serve"]

_LARGEST_ANSWER = 64 << 20
_DEBOUNCE = 0.15
"""Seconds without a change after which a document is analyzed."""
_SLOWER = 20
"""How many times longer a command of the user may take than a question."""


class Limits:
    """seconds: for an analysis and for a question. memory: of a worker, in MiB; 0 is no limit."""

    def __init__(self, seconds: float, memory: int) -> None:
        self.seconds = seconds
        self.memory = memory


class Failed(Exception):
    """A question without an answer, with the reason for the user."""


class Connection:
    """A worker: started at the first question, and again after it was ended."""

    def __init__(self, limits: Limits, log: Callable[[str], None]) -> None:
        self._limits = limits
        self._log = log
        self._lock = asyncio.Lock()
        self._pid = 0
        self._ready = False
        self._reader: asyncio.StreamReader | None = None
        self._transports: list[asyncio.BaseTransport] = []
        self._writer: asyncio.StreamWriter | None = None
        self._number = 0
        self.configuration: Json = {"encoding": "utf-16", "settings": {}}
        self.has: dict[str, int] = {}
        """The documents that the worker has, by version."""

    async def ask(
        self, method: str, params: Json, document: tuple[str, int, str] | None = None, seconds: float = 0.0
    ) -> Any:
        """The answer to one question. document: (uri, version, text) of the document that it is about.

        Raises Failed for an error, and if the worker exceeds a limit or ends.
        """
        async with self._lock:
            try:
                async with asyncio.timeout(seconds or self._limits.seconds):
                    if not self._ready:
                        self.stop()  # what a canceled question began
                        await self._start()
                    if document is not None and self.has.get(document[0]) != document[1]:
                        await self._exchange("open", {"uri": document[0], "text": document[2]})
                    if document is not None:
                        self.has.pop(document[0], None)
                        self.has[document[0]] = document[1]
                        # The worker forgets the ones used least recently; one that it keeps is its own.
                        while len(self.has) >= MOST_DOCUMENTS:
                            del self.has[next(iter(self.has))]
                    return await self._exchange(method, params)
            except TimeoutError:
                self.stop()
                raise Failed(
                    f"stopped after {seconds or self._limits.seconds:g} s; set --time-limit for more"
                ) from None
            except Failed:
                raise
            except Exception as failure:
                self.stop()
                raise Failed(
                    f"the analysis ended unexpectedly ({type(failure).__name__}); it may need more memory than "
                    f"--memory-limit={self._limits.memory}"
                ) from None

    async def _exchange(self, method: str, params: Json) -> Any:
        assert self._writer is not None and self._reader is not None
        self._number += 1
        request = {"id": self._number, "method": method, "params": params}
        self._writer.write(json.dumps(request).encode() + b"\n")
        await self._writer.drain()
        while True:
            line = await self._reader.readline()
            if not line:
                raise EOFError
            answer = json.loads(line)
            # An earlier number is the answer to a question that was canceled.
            if answer["id"] == self._number:
                break
        if "trace" in answer:
            self._log(answer["trace"])
        if "error" in answer:
            raise Failed(answer["error"])
        return answer["result"]

    async def _start(self) -> None:
        loop = asyncio.get_running_loop()
        requests_read, requests_write = os.pipe()
        answers_read, answers_write = os.pipe()
        argv = [
            sys.executable,
            "-m",
            "tessera_tools.cli.lsp_worker",
            str(os.getpid()),
            str(self._limits.memory),
        ]
        try:
            self._pid = spawn(argv, stdin=requests_read, stdout=answers_write, stderr=2, guards_itself=True)
        finally:
            os.close(requests_read)
            os.close(answers_write)
        self._reader = asyncio.StreamReader(limit=_LARGEST_ANSWER)
        protocol = asyncio.StreamReaderProtocol(self._reader)
        transport, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(answers_read, "rb"))
        writer, flow = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, os.fdopen(requests_write, "wb")
        )
        self._transports = [transport, writer]
        self._writer = asyncio.StreamWriter(writer, flow, None, loop)
        await self._exchange("configure", self.configuration)
        self._ready = True

    def stop(self) -> None:
        """End the worker; the next question starts another one."""
        if self._pid:
            end(self._pid)
        for transport in self._transports:
            if not transport.is_closing():
                transport.close()
        self._pid, self._transports, self.has, self._ready = 0, [], {}, False


class Server(LanguageServer):
    """The state of the connection with one editor."""

    def __init__(self, limits: Limits) -> None:
        super().__init__("tessera-lsp", __version__)
        self.limits = limits
        self.settings = Settings()
        self.connection = Connection(limits, self.log)
        self.waiting: dict[str, asyncio.Task[None]] = {}
        """The analysis of each document that is to come."""
        self.hopeless: dict[str, int] = {}
        """Versions of documents that exceed a limit."""

    def log(self, message: str) -> None:
        """Write to the log of the editor."""
        self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Error, message))

    def configure(self, given: object) -> None:
        """Take the settings of the user."""
        self.settings = Settings.read(given)
        self.connection.configuration = {
            "encoding": str(getattr(encoding := self.workspace.position_encoding, "value", encoding)),
            "settings": self.settings.json(),
        }
        self.connection.stop()

    def document(self, uri: str) -> tuple[str, int, str]:
        """(uri, version, text) of an open document."""
        found = self.workspace.get_text_document(uri)
        return uri, found.version or 0, found.source

    def is_python(self, uri: str) -> bool:
        """True for a Python file."""
        found = self.workspace.get_text_document(uri)
        return found.language_id == "python" or uri.endswith(".py")

    async def ask(self, method: str, params: Any, uri: str) -> Any:
        """The answer to a request about a document; None where there cannot be one."""
        document = self.document(uri)
        if self.is_python(uri) or self.hopeless.get(uri) == document[1]:
            return None
        plain = self.protocol._converter.unstructure(params)
        return await self.connection.ask(method, plain, document)

    # -- diagnostics

    def changed(self, uri: str, delay: float) -> None:
        """Analyze a document soon; a later change begins again."""
        task = self.waiting.pop(uri, None)
        if task is not None:
            task.cancel()
        self.waiting[uri] = asyncio.get_running_loop().create_task(self._analyze(uri, delay))

    async def _analyze(self, uri: str, delay: float) -> None:
        await asyncio.sleep(delay)
        document = self.document(uri)
        try:
            found = await self._diagnose(document)
        except Failed as failure:
            self.hopeless[uri] = document[1]
            at = {"line": 0, "character": 0}
            found = [
                {
                    "range": {"start": at, "end": at},
                    "severity": 2,
                    "source": "tessera",
                    "message": str(failure),
                }
            ]
        self.publish(uri, document[1], found)

    async def _diagnose(self, document: tuple[str, int, str]) -> list[Json]:
        uri = document[0]
        if not self.is_python(uri):
            return await self.connection.ask(
                "textDocument/diagnostics", {"textDocument": {"uri": uri}}, document
            )
        params = {"text": document[2], "path": to_fs_path(uri) or uri}
        return await self.once("checkPython", params, None)

    def publish(self, uri: str, version: int, found: list[Json]) -> None:
        """Send the diagnostics of a document."""
        diagnostics = [self.protocol._converter.structure(one, lsp.Diagnostic) for one in found]
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri=uri, diagnostics=diagnostics, version=version)
        )

    async def once(self, method: str, params: Json, document: tuple[str, int, str] | None) -> Any:
        """The answer of a worker that is started for one question, and may take longer."""
        connection = Connection(self.limits, self.log)
        connection.configuration = self.connection.configuration
        try:
            return await connection.ask(method, params, document, self.limits.seconds * _SLOWER)
        finally:
            connection.stop()


_ANSWERS: dict[str, tuple[Any, Any]] = {
    lsp.TEXT_DOCUMENT_HOVER: (lsp.Hover | None, None),
    lsp.TEXT_DOCUMENT_DEFINITION: (lsp.Location | None, None),
    lsp.TEXT_DOCUMENT_REFERENCES: (list[lsp.Location] | None, None),
    lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: (list[lsp.DocumentHighlight] | None, None),
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: (list[lsp.DocumentSymbol] | None, None),
    lsp.TEXT_DOCUMENT_FOLDING_RANGE: (list[lsp.FoldingRange] | None, None),
    lsp.TEXT_DOCUMENT_CODE_LENS: (list[lsp.CodeLens] | None, None),
    lsp.TEXT_DOCUMENT_INLAY_HINT: (list[lsp.InlayHint] | None, None),
    lsp.TEXT_DOCUMENT_PREPARE_RENAME: (lsp.PrepareRenamePlaceholder | None, None),
    lsp.TEXT_DOCUMENT_RENAME: (lsp.WorkspaceEdit | None, lsp.RenameOptions(prepare_provider=True)),
    lsp.TEXT_DOCUMENT_COMPLETION: (
        lsp.CompletionList | None,
        lsp.CompletionOptions(
            trigger_characters=["%", "^", "@", "#", "!", ".", "-", "="], resolve_provider=True
        ),
    ),
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: (
        lsp.SemanticTokens | None,
        lsp.SemanticTokensLegend(list(TOKEN_TYPES), list(TOKEN_MODIFIERS)),
    ),
}
"""The requests about a document: the type of the answer, and the options of the capability."""

_REPORTED = frozenset({lsp.TEXT_DOCUMENT_RENAME})
"""Requests whose failure is an error response, which editors show; others have no answer then."""


def serve(limits: Limits) -> None:
    """Serve one editor on stdin and stdout until it ends. Raises DiagnosticError if stdin has no messages."""
    stdout = os.fdopen(os.dup(1), "wb")
    # The protocol has the descriptor to itself: whatever is printed goes to stderr.
    os.dup2(2, 1)
    # What goes wrong is in the response to the editor, or a message to it; pygls logs it with a traceback, too.
    logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)
    messages = Messages(sys.stdin.buffer)
    make_server(limits).start_io(cast(BinaryIO, messages), stdout)
    if messages.failure is not None:
        raise messages.failure


def make_server(limits: Limits) -> Server:
    """A server with all its features."""
    server = Server(limits)
    for method, (answer, options) in _ANSWERS.items():
        server.feature(method, options)(_handler(method, answer))
    server.feature(lsp.COMPLETION_ITEM_RESOLVE)(_resolve)
    server.feature(lsp.INITIALIZED)(_initialized)
    server.feature(lsp.INITIALIZE)(_initialize)
    server.feature(lsp.SHUTDOWN)(_shutdown)
    server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)(_configured)
    server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)(_opened)
    server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)(_changed)
    server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)(_opened)
    server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)(_closed)
    server.command("tessera.runLine")(_run_line)
    server.command("tessera.showStage")(_show_stage)
    return server


def _handler(method: str, answer: Any) -> Callable[[Server, Any], Awaitable[Any]]:
    async def handle(server: Server, params: Any) -> Any:
        try:
            found = await server.ask(method, params, params.text_document.uri)
        except Failed as failure:
            if method in _REPORTED:
                raise JsonRpcException(str(failure), lsp.LSPErrorCodes.RequestFailed) from None
            server.log(f"{method}: {failure}")
            return None
        return server.protocol._converter.structure(found, answer)

    return handle


async def _resolve(server: Server, item: lsp.CompletionItem) -> lsp.CompletionItem:
    converter = server.protocol._converter
    with contextlib.suppress(Failed):
        found = await server.connection.ask("completionItem/resolve", converter.unstructure(item))
        return converter.structure(found, lsp.CompletionItem)
    return item


def _initialize(server: Server, params: lsp.InitializeParams) -> None:
    server.configure(params.initialization_options)


async def _initialized(server: Server, params: lsp.InitializedParams) -> None:
    with contextlib.suppress(Failed):
        await server.connection.ask("warm", {}, seconds=60)


def _shutdown(server: Server, params: None) -> None:
    server.connection.stop()


def _configured(server: Server, params: lsp.DidChangeConfigurationParams) -> None:
    # Some clients send the settings of all servers, or none, after those of `initializationOptions`.
    if not isinstance(params.settings, dict) or not isinstance(params.settings.get("tessera"), dict):
        return
    server.configure(params.settings)
    for uri in list(server.workspace.text_documents):
        server.changed(uri, 0)


def _opened(server: Server, params: lsp.DidOpenTextDocumentParams | lsp.DidSaveTextDocumentParams) -> None:
    server.changed(params.text_document.uri, 0)


def _changed(server: Server, params: lsp.DidChangeTextDocumentParams) -> None:
    # A Python file may be executed: not while it is typed.
    uri = params.text_document.uri
    if not (server.is_python(uri) and server.settings.run_python):
        server.changed(uri, _DEBOUNCE)


def _closed(server: Server, params: lsp.DidCloseTextDocumentParams) -> None:
    uri = params.text_document.uri
    task = server.waiting.pop(uri, None)
    if task is not None:
        task.cancel()
    server.hopeless.pop(uri, None)
    # The version of a document that is opened again may be the same, with another text.
    server.connection.has.pop(uri, None)
    server.publish(uri, 0, [])


async def _run_line(server: Server, argument: Json) -> Json | None:
    uri, line = _place(argument)
    params = {"uri": uri, "path": to_fs_path(uri) or uri, "line": line}
    return await _shown(server, "runLine", params, uri)


async def _show_stage(server: Server, argument: Json) -> Json | None:
    uri, line = _place(argument)
    stage = argument.get("stage", "next")
    return await _shown(server, "showStage", {"uri": uri, "line": line, "stage": str(stage)}, uri)


def _place(argument: Json) -> tuple[str, int]:
    uri, line = argument.get("uri"), argument.get("line", 0)
    if not isinstance(uri, str) or not isinstance(line, int):
        raise ValueError('expected an argument {"uri": …, "line": …}')
    return uri, line


async def _shown(server: Server, method: str, params: Json, uri: str) -> Json | None:
    """What a command returns to show: {"title", "text", "language"}; a failure is a message."""
    try:
        return await server.once(method, params, server.document(uri))
    except Failed as failure:
        server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, str(failure)))
        return None
