"""`tessera-tools`: what belongs to no single command, such as the folder that holds our `tileiras`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable

import click

from tessera_tools.cache import cache_folder
from tessera_tools.cli.command_line import entry_points
from tessera_tools.diagnostics import error

__all__ = ["main", "run"]

EPILOG = """\
\b
Actions:
  commands        list the commands of Tessera tools (the default)
  completion-bash, completion-fish, completion-zsh
                  print the completion of the commands' options for a shell:
                  source <(tessera-tools completion-bash)
  server-status   tell whether a resident server runs (see TESSERA_SERVER in docs/commands.md)
  server-stop     end it
  tileiras-path   print a folder that contains our tileiras and tileirdisasm

\b
Example:
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


def execute(argv: list[str]) -> int:
    """Run the command; returns the exit status."""
    command = click.Command(
        "tessera-tools",
        params=[
            click.Argument(["action"], type=click.Choice(tuple(_ACTIONS)), default="commands"),
            click.Option(["--version"], is_flag=True, help="Show the version and exit."),
        ],
        help="Show the commands of Tessera tools, or the folder for PATH in which tileiras is ours.",
        epilog=EPILOG,
        context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 110},
    )
    with command.make_context("tessera-tools", argv) as context:
        action, version = context.params["action"], context.params["version"]
    if version:
        from tessera_tools import __version__

        sys.stdout.write(f"tessera-tools {__version__}\n")
    else:
        _ACTIONS[action]()
    return 0


def _list() -> None:
    width = max(map(len, COMMANDS))
    sys.stdout.write("".join(f"{name:{width}}  {text}\n" for name, text in COMMANDS.items()))


def _print_folder() -> None:
    sys.stdout.write(f"{_drop_in_folder()}\n")


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

    base = cache_folder()
    if base is None:
        raise error(
            None, "there is no private folder for the programs", "set TESSERA_CACHE to a folder of yours"
        )
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
    "server-status": lambda: _ask_server("status"),
    "server-stop": lambda: _ask_server("stop"),
    "tileiras-path": _print_folder,
}

run, main = entry_points(execute)


if __name__ == "__main__":
    main()
