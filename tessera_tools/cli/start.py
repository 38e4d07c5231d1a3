"""The console scripts; imports nothing else first.

While a command is loading, Ctrl-C has its default action. Python's handler would print a traceback of the
interrupted import.
"""

from __future__ import annotations

import signal
from typing import NoReturn

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until `as_process` sets its own


def cache() -> NoReturn:
    """`tessera-cache`"""
    from tessera_tools.cli.cache import main

    main()


def opt() -> NoReturn:
    """`tessera-opt`"""
    from tessera_tools.cli.opt import main

    main()


def run() -> NoReturn:
    """`tessera-run`"""
    from tessera_tools.cli.run import main

    main()


def tileiras() -> NoReturn:
    """`tessera-tileiras`"""
    from tessera_tools.cli.tileiras.command import main

    main()


def tools() -> NoReturn:
    """`tessera-tools`"""
    from tessera_tools.cli.tools import main

    main()


def translate() -> NoReturn:
    """`tessera-translate`"""
    from tessera_tools.cli.translate import main

    main()


def tune() -> NoReturn:
    """`tessera-tune`"""
    from tessera_tools.cli.tune import main

    main()
