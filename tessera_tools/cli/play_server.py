"""The server of `tessera-play`: a page, and one address that compiles. It keeps nothing of what it is sent.

    GET /             the page, with the options and the names of the examples
    GET /FILE         its style and its scripts          GET /examples/NAME   a program
    POST /compile     {"program", "options", …} ──Pool──▶ what the page shows

Every request must name this host (against DNS rebinding), and a compilation must come from the page itself (against
other sites that the browser shows). The page may load only what this server sends.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import json
import os
import socket
import webbrowser
from collections.abc import AsyncIterator, Callable, Coroutine
from importlib import resources
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tessera_tools.api.inputs import is_binary, parse_input
from tessera_tools.cli.common import read_input, write_stderr
from tessera_tools.cli.play_options import described
from tessera_tools.cli.play_pool import BusyError, FailedError, Limits, Pool
from tessera_tools.diagnostics import DiagnosticError, error
from tessera_tools.report.assets import as_inert, asset

__all__ = ["Limits", "make_app", "serve"]

_BODY_SECONDS = 20.0
"""How long the body of a request may take."""
_CONNECTIONS = 64
_LOCAL = ("localhost", "127.0.0.1", "::1")

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_TYPES = {".css": "text/css", ".js": "text/javascript"}


def make_app(
    host: str, limits: Limits, path: str | None, started: Callable[[], None] | None = None
) -> ASGIApp:
    """The application. path: the file of the first program. started: called when it serves."""
    pool = Pool(limits)
    samples = examples()
    page = _static("play.html")
    files = {
        "report.css": asset("report.css"),
        "parts.js": asset("parts.js"),
        **{name: _static(name) for name in ("play.css", "play.js", "editor.js")},
    }

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        pool.start()
        if started is not None:
            started()
        try:
            yield
        finally:
            pool.close()

    async def index(request: Request) -> Response:
        setup: dict[str, object] = {
            "options": described(),
            "examples": list(samples),
            "most": limits.program,
            "seconds": limits.seconds,
        }
        if path is not None:
            # Read again for each page: the file may have changed.
            try:
                setup["file"] = {
                    "name": os.path.basename(path),
                    "program": read_program(path, limits.program),
                }
            except DiagnosticError as failure:
                setup["problem"] = str(failure)
        return Response(page.replace("{SETUP}", as_inert(setup)), media_type="text/html")

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in files:
            return PlainTextResponse("not found\n", 404)
        return Response(files[name], media_type=_TYPES[os.path.splitext(name)[1]])

    async def example(request: Request) -> Response:
        found = samples.get(request.path_params["name"])
        if found is None:
            return PlainTextResponse("not found\n", 404)
        return PlainTextResponse(found.read_text("utf-8"))

    async def compile(request: Request) -> Response:
        refused = _refusal(request)
        if refused is not None:
            return PlainTextResponse(refused, 403)
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                body = await _body(request, 2 * limits.program)
        except TimeoutError:
            return JSONResponse({"failed": "the request took too long to arrive"}, 408)
        except ClientDisconnect:
            return Response(status_code=400)
        data = _request(body) if body is not None else None
        if body is None or (data is not None and len(str(data.get("program"))) > limits.program):
            return JSONResponse({"failed": f"the program has more than {limits.program:,} characters"}, 413)
        if data is None:
            return JSONResponse({"failed": "this is no request of the page"}, 400)
        line = json.dumps(data).encode()
        try:
            return Response(await _while_connected(request, pool.answer(line)), media_type="application/json")
        except FailedError as failure:
            return JSONResponse({"failed": str(failure)})
        except BusyError:
            return JSONResponse({"failed": "too many requests wait; try again"}, 503)

    routes = [
        Route("/", index),
        Route("/compile", compile, methods=["POST"]),
        Route("/examples/{name}", example),
        Route("/{name}", static),
    ]
    return _Guard(Starlette(routes=routes, lifespan=lifespan), host)


def examples() -> dict[str, Path]:
    """The programs of the examples by name: of the package, or of a checkout."""
    package = Path(str(resources.files("tessera_tools")))
    for folder in (package / "_examples", package.parent / "examples"):
        if folder.is_dir():
            return {path.name: path for path in sorted(folder.glob("*.mlir"))}
    return {}


def _static(name: str) -> str:
    return resources.files("tessera_tools.cli").joinpath("static", name).read_text("utf-8")


class _Guard:
    """Refuses requests for another host, and adds the headers."""

    def __init__(self, app: ASGIApp, host: str) -> None:
        self._app = app
        self._host = host.strip("[]").lower()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            refusal = PlainTextResponse("this server answers requests for its own address only\n", 421)
            await refusal(scope, receive, guarded)
            return
        await self._app(scope, receive, guarded)

    def _is_ours(self, host: str) -> bool:
        """Whether a browser that sends this Host has not been led here by another site's name."""
        if host.startswith("["):
            name = host[1:].partition("]")[0]
        else:
            name = host.partition(":")[0]
        name = name.lower()
        if name in _LOCAL or name == self._host:
            return True
        if self._host in _LOCAL:
            return False
        # Who listens beyond this machine has more than one address; a name that others control is none of them.
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name == socket.gethostname().lower()
        return True


def _refusal(request: Request) -> str | None:
    """Why a request does not come from the page; None if it does."""
    host, origin = request.headers["host"], request.headers.get("origin")
    if origin not in (f"http://{host}", f"https://{host}"):
        return "expected a request of the page itself\n"
    if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return "expected a request of the page itself\n"
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return "expected JSON\n"
    return None


async def _body(request: Request, most: int) -> bytes | None:
    """The body; None if it is larger than `most` bytes."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most:
            return None
    return bytes(body)


def _request(body: bytes) -> dict[str, object] | None:
    """The request; None if it is not an object in JSON."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


async def _while_connected(request: Request, work: Coroutine[object, object, bytes]) -> bytes:
    """The result of `work`, which is canceled when the client leaves."""

    async def leaves() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(leaves())
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise FailedError("the page has left")
        return task.result()
    finally:
        for one in (task, gone):
            one.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await one


def read_program(path: str, most: int) -> str:
    """The text of the program that the page begins with; bytecode becomes text. Raises DiagnosticError."""
    name, data = read_input(path)
    if is_binary(data):
        from tessera_tools.ir.printing import print_op

        data = f"{print_op(parse_input(data, name))}\n".encode()
    if len(data) > most:
        raise error(None, f"'{name}' has {len(data):,} bytes; the page takes at most {most:,}")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise error(None, f"'{name}' is not a text") from None


def serve(host: str, port: int, limits: Limits, path: str | None, *, opens: bool) -> int:
    """Serve until Ctrl-C; returns the exit status. Raises DiagnosticError if the address or the file cannot be used."""
    if path is not None:
        read_program(path, limits.program)  # so that an error is reported now
    address = host.strip("[]")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        listening = socket.create_server((address, port), family=family)
    except (OSError, UnicodeError) as failure:
        # Python adds the address to the reason, once more.
        known = failure if isinstance(failure, OSError) else None
        reason = ((known.strerror if known else None) or str(failure)).partition(" (while ")[0].lower()
        taken = known is not None and known.errno in (errno.EADDRINUSE, errno.EACCES)
        advice = "--port=0 takes any free port" if taken else "--host expects an address of this machine"
        raise error(None, f"cannot listen on {host}:{port}: {reason}", advice) from None
    number = listening.getsockname()[1]
    shown = "localhost" if address in ("0.0.0.0", "::") else f"[{address}]" if ":" in address else address
    url = f"http://{shown}:{number}/"

    def started() -> None:
        write_stderr(f"{url}\n")
        if address not in _LOCAL:
            write_stderr("warning: everyone who reaches this address can compile and run programs here\n")
        if opens:
            asyncio.get_running_loop().run_in_executor(None, webbrowser.open, url)

    config = uvicorn.Config(
        make_app(address, limits, path, started),
        http="h11",
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=_CONNECTIONS,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=64 << 10,
    )
    with contextlib.suppress(KeyboardInterrupt), listening:
        uvicorn.Server(config).run(sockets=[listening])
    return 0
