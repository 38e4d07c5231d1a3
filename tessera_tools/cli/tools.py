"""`tessera-tools`: what belongs to no single command, such as the folder that holds our `tileiras`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable

from tessera_tools.cache import cache_folder
from tessera_tools.cli.command_line import CommandLine, entry_points
from tessera_tools.diagnostics import error

__all__ = ["main", "run"]

EPILOG = """\
\b
Examples:
  source <(tessera-tools completion-bash)
  MANPATH="$(tessera-tools man-path):" man tessera-opt
  PATH="$(tessera-tools tileiras-path):$PATH" python my_cutile_program.py
"""

COMMANDS = {
    "tessera-opt": "run passes on MLIR, and print it",
    "tessera-translate": "translate any stage to LLVM IR, PTX, cubin or SASS, and bytecode to text and back",
    "tessera-run": "run a kernel on the simulated GPU",
    "tessera-tune": "find the compiler options with which a kernel is fastest",
    "tessera-layout": "show a layout as a picture, and in CuTe notation",
    "tessera-reduce": "find the smallest input that still fails",
    "tessera-lsp": "serve an editor: errors, hover, completion, navigation",
    "tessera-play": "serve a page: a program, its stages, and a run on the simulated GPU",
    "tessera-cache": "show and clear the compile cache",
    "tessera-tileiras": "compile bytecode with the command line of NVIDIA's tileiras",
}

_PROGRAMS = {
    "tileiras": "tessera_tools.cli.tileiras.command",
    "tileirdisasm": "tessera_tools.cli.tileiras.disassembler",
}
"""Program in the drop-in folder → the module that it runs."""


COMMAND_LINE = CommandLine(
    "tessera-tools",
    help="Show the commands of Tessera tools, and what belongs to none of them.",
    epilog=EPILOG,
    flags={},
    values={},
    takes_input=False,
    actions={
        "commands": "list the commands of Tessera tools (the default)",
        **{
            f"completion-{shell}": f"print the completion of the commands' options for {shell}"
            for shell in ("bash", "fish", "zsh")
        },
        "man-path": "print a folder that contains the commands' man pages, for MANPATH",
        "server-status": "tell whether a resident server runs (see TESSERA_SERVER in docs/commands.md)",
        "server-stop": "end it",
        "tileiras-path": "print a folder that contains our tileiras and tileirdisasm",
    },
)


def execute(argv: list[str]) -> int:
    """Run the command; returns the exit status."""
    options = COMMAND_LINE.read(argv)
    if options is not None:
        _ACTIONS[options["action"]]()
    return 0


def _list() -> None:
    width = max(map(len, COMMANDS))
    sys.stdout.write("".join(f"{name:{width}}  {text}\n" for name, text in COMMANDS.items()))


def _print_folder() -> None:
    sys.stdout.write(f"{_drop_in_folder()}\n")


def _print_man_folder() -> None:
    """The pages are written to the user's private cache folder each time, so that they are those of this version."""
    from tessera_tools.cli.manual import write_man_pages

    folder = os.path.join(_private_folder("the man pages"), "man")
    write_man_pages(os.path.join(folder, "man1"))
    sys.stdout.write(f"{folder}\n")


def _private_folder(what: str) -> str:
    """The user's cache folder. Raises DiagnosticError without one."""
    base = cache_folder()
    if base is None:
        raise error(None, f"there is no private folder for {what}", "set TESSERA_CACHE to a folder of yours")
    return base


def _ask_server(question: str) -> None:
    """Let the server answer, if there is one; then this does not return."""
    from tessera_tools.cli.client import ask

    ask(question)
    sys.stdout.write("no server runs\n")


def _complete(shell: str) -> None:
    from tessera_tools.cli.manual import completion

    sys.stdout.write(completion(shell))


def _drop_in_folder() -> str:
    """The folder of the programs, which run this Python. Created in the user's private cache folder."""
    import hashlib

    from tessera_tools.emit.files import write_output

    base = _private_folder("the programs")
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    # One folder for each installation.
    name = hashlib.sha256(f"{sys.executable}\n{package}".encode()).hexdigest()[:16]
    folder = os.path.join(base, "drop-in", name)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    for program, module in _PROGRAMS.items():
        # -P: files of the working directory are not imported.
        run = f"import sys; sys.path.append({package!r}); from {module} import main; main()"
        path = os.path.join(folder, program)
        write_output(path, f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -c {shlex.quote(run)} "$@"\n')
        os.chmod(path, 0o700)
    return folder


_ACTIONS: dict[str, Callable[[], None]] = {
    "commands": _list,
    "completion-bash": lambda: _complete("bash"),
    "completion-fish": lambda: _complete("fish"),
    "completion-zsh": lambda: _complete("zsh"),
    "man-path": _print_man_folder,
    "server-status": lambda: _ask_server("status"),
    "server-stop": lambda: _ask_server("stop"),
    "tileiras-path": _print_folder,
}

run, main = entry_points(execute)


if __name__ == "__main__":
    main()
