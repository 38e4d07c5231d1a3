"""The console scripts; imports nothing else first.

While a command is loading, Ctrl-C has its default action. Python's handler would print a traceback of the
interrupted import. Python itself has that handler while it starts, before this module can change it.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable
    from typing import NoReturn
else:
    import _signal  # part of the interpreter; `signal` imports `enum`, which takes milliseconds

if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # until `as_process` sets its own

SERVED = ("opt", "run", "tileiras", "translate")
"""The commands that the resident server runs."""


def cache() -> NoReturn:
    """`tessera-cache`"""
    _start("cache")


def layout() -> NoReturn:
    """`tessera-layout`"""
    _start("layout")


def lsp() -> NoReturn:
    """`tessera-lsp`"""
    _start("lsp")


def opt() -> NoReturn:
    """`tessera-opt`"""
    _start("opt")


def play() -> NoReturn:
    """`tessera-play`"""
    _start("play")


def reduce() -> NoReturn:
    """`tessera-reduce`"""
    _start("reduce")


def run() -> NoReturn:
    """`tessera-run`"""
    _start("run")


def tileiras() -> NoReturn:
    """`tessera-tileiras`"""
    _start("tileiras")


def tools() -> NoReturn:
    """`tessera-tools`"""
    _start("tools")


def translate() -> NoReturn:
    """`tessera-translate`"""
    _start("translate")


def tune() -> NoReturn:
    """`tessera-tune`"""
    _start("tune")


def main_of(program: str) -> Callable[[], NoReturn]:
    """The entry point of a command, loaded now."""
    from importlib import import_module

    module = f"{program}.command" if program == "tileiras" else program
    return import_module(f"tessera_tools.cli.{module}").main


def _start(program: str) -> NoReturn:
    """Run a command on the resident server, if the user wants one and it can run there; otherwise here."""
    # The products of the simulated GPU are small. With several threads, NumPy's OpenBLAS waits in each of them for a
    # core that another process may have: 577 instead of 47 us for 128x128x64.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if program in SERVED and os.environ.get("TESSERA_SERVER"):
        from tessera_tools.cli.client import run_on_server, wanted

        if wanted():
            run_on_server(program)
    main_of(program)()
