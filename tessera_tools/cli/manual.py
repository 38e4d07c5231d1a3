"""Shell completion and man pages, from the same tables as `--help`.

COMMAND_LINE of each command ──┬─▶ completion("bash" | "zsh" | "fish")     `tessera-tools completion-bash`
                               └─▶ man_page()                              `make man`
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable

from tessera_tools.cli.command_line import CommandLine
from tessera_tools.emit.files import write_output
from tessera_tools.passes.table import STAGES
from tessera_tools.target import targets

__all__ = ["COMMANDS", "completion", "man_page", "write_man_pages"]

COMMANDS = ("opt", "translate", "run", "layout", "reduce", "tune", "lsp", "play", "cache", "tools")
"""The modules of the commands with a `CommandLine`."""


def command_lines() -> list[CommandLine]:
    """The options of every command."""
    found = [importlib.import_module(f"tessera_tools.cli.{name}").COMMAND_LINE for name in COMMANDS]
    return [*found, _drop_in()]


def _drop_in() -> CommandLine:
    """The options of tessera-tileiras, which reads them as LLVM's tools do."""
    from tessera_tools.cli.tileiras.command import SYNTAX

    options = [one for one in SYNTAX.options if one.name not in ("help", "version")]
    return CommandLine(
        SYNTAX.program,
        help="Compile cuda_tile bytecode to a cubin. The command line is that of NVIDIA's tileiras.",
        epilog="",
        flags={one.name: one.help for one in options if not one.value},
        values={one.name: (one.value.upper(), one.help, None) for one in options if one.value},
        kinds={one.name: tuple(one.choices) for one in options if one.choices},
    )


def _options(line: CommandLine) -> list[tuple[str, str, tuple[str, ...], bool]]:
    """(option with hyphens, help, its values if they are words, whether it takes a value), and the passes."""
    found: list[tuple[str, str, tuple[str, ...], bool]] = []
    for names in line.sections().values():
        for name in names:
            kind = line.kinds.get(name)
            words = tuple(kind) if isinstance(kind, tuple) else _proposed(name)
            hyphens = "-" if len(name) == 1 else "--"
            takes = name not in line.flags
            found.append((hyphens + name, line.usage(name)[1], words, takes))
    found += [
        ("--help", "show the help and exit", (), False),
        ("--version", "show the version and exit", (), False),
    ]
    found += [(f"--{name}", row.summary, (), False) for name, row in line.passes.items()]
    return found


def _proposed(name: str) -> tuple[str, ...]:
    """The words that completion offers for a value that need not be one of them."""
    if name in ("gpu-name", "tessera-pipeline"):
        return tuple(dict.fromkeys(name for target in targets() for name in (target.name, target.cpu)))
    return _ends() if name == "to" else ()


def _ends() -> tuple[str, ...]:
    """The stages and passes to which --to may lead."""
    from tessera_tools.emit.compiled import Options
    from tessera_tools.emit.driver import remaining_pipeline

    pipelines = [remaining_pipeline(Options(target), start) for target in targets() for start in STAGES[:2]]
    passes = (one.name for pipeline in pipelines for one in pipeline.passes())
    return (*STAGES[2:], *dict.fromkeys(passes))


# -- completion


def completion(shell: str) -> str:
    """The script that a shell reads to complete the options of every command."""
    return "".join(_SHELLS[shell](line) for line in command_lines())


def _bash(line: CommandLine) -> str:
    function = f"_{line.name.replace('-', '_')}"
    options = _options(line)
    words = " ".join(f"{name}=" if takes and len(name) > 2 else name for name, _, _, takes in options)
    cases = "".join(
        f'    {name}) COMPREPLY=($(compgen -W "{" ".join(values)}" -- "$current")); return ;;\n'
        for name, _, values, _ in options
        if values
    )
    actions = (
        f'  COMPREPLY=($(compgen -W "{" ".join(line.actions)}" -- "$current"))\n  return\n'
        if line.actions
        else ""
    )
    return f"""\
{function}() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" option="${{COMP_WORDS[COMP_CWORD-1]}}"
  if [[ $current == "=" ]]; then
    current=""
  elif [[ $option == "=" ]]; then
    option="${{COMP_WORDS[COMP_CWORD-2]}}"
  fi
  case "$option" in
{cases}  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "{words}" -- "$current"))
    [[ ${{COMPREPLY[0]}} == *= ]] && compopt -o nospace
    return
  fi
{actions}  compopt -o filenames
  COMPREPLY=($(compgen -f -- "$current"))
}}
complete -F {function} {line.name}
"""


def _zsh(line: CommandLine) -> str:
    function = f"_{line.name.replace('-', '_')}"
    text = f"{function}() {{\n  _arguments \\\n"
    for name, help, values, takes in _options(line):
        shown = re.sub(r"([\[\]:\\])", r"\\\1", help).replace("'", "'\\''")
        sign = ("" if len(name) == 2 else "=") if takes else ""
        after = f":value:({' '.join(values)})" if values else ":value:_files" if takes else ""
        text += f"    '*{name}{sign}[{shown}]{after}' \\\n"
    rest = f"1:action:({' '.join(line.actions)})" if line.actions else "*:file:_files"
    return f"{text}    '{rest}'\n}}\ncompdef {function} {line.name}\n"


def _fish(line: CommandLine) -> str:
    text = ""
    for name, help in line.actions.items():
        shown = help.replace("\\", "\\\\").replace("'", "\\'")
        text += f"complete -c {line.name} -f -a {name} -d '{shown}'\n"
    for name, help, values, takes in _options(line):
        shown = help.replace("\\", "\\\\").replace("'", "\\'")
        spelled = f"-s {name[1:]}" if len(name) == 2 else f"-l {name[2:]}"
        more = f" -x -a '{' '.join(values)}'" if values else " -r" if takes else ""
        text += f"complete -c {line.name} {spelled}{more} -d '{shown}'\n"
    return text


_SHELLS: dict[str, Callable[[CommandLine], str]] = {"bash": _bash, "fish": _fish, "zsh": _zsh}


# -- man pages


def man_page(line: CommandLine) -> str:
    """The page in section 1, as roff."""
    from tessera_tools import __version__

    summary, _, more = line.help.partition(". ")
    file = "[\\fIFILE\\fR]" if line.takes_input else ""
    action = "[\\fIACTION\\fR]" if line.actions else ""
    page = [
        f'.TH {line.name.upper()} 1 "" "Tessera tools {__version__}" "User Commands"',
        ".SH NAME",
        f"{_roff(line.name)} \\- {_roff(summary[:1].lower() + summary[1:])}",
        ".SH SYNOPSIS",
        f".B {_roff(line.name)}",
        f"[\\fIOPTION\\fR]... {file or action} {_roff(line.rest)}".rstrip(),
    ]
    if more:
        page += [".SH DESCRIPTION", _roff(more)]
    if line.actions:
        page.append(".SH ACTIONS")
        for name, text in line.actions.items():
            page += [".TP", f".B {_roff(name)}", _roff(text)]
    for title, names in line.sections().items():
        page.append(f".SH {_roff(title.upper())}")
        for name in names:
            spelled, text = line.usage(name)
            page += [".TP", f".B {_roff(spelled)}", _roff(text)]
    page += [".SH ABOUT", ".TP", ".B \\-\\-help, \\-h", "Show the options and exit.", ".TP", ".B \\-\\-version",
             "Show the version and exit."]  # fmt: skip
    if line.passes:
        page += [
            ".SH PASSES",
            "They run in the order given; their options are one string, as in \\-\\-PASS='name=value'.",
        ]
        for name, row in line.passes.items():
            page += [".TP", f".B {_roff(f'--{name}')}", _roff(row.summary)]
    for paragraph in filter(None, line.epilog.replace("\b\n", "").strip().split("\n\n")):
        title, _, body = paragraph.partition("\n")
        page += [f".SH {_roff(title.rstrip(':').upper())}", ".nf", *map(_roff, body.splitlines()), ".fi"]
    return "\n".join(page) + "\n"


def _roff(text: str) -> str:
    """Text in which nothing is a request or an escape."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    escaped = "".join(char if char.isascii() else f"\\[u{ord(char):04X}]" for char in escaped)
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


def write_man_pages(folder: str) -> list[str]:
    """Write the page of every command to a folder; returns the paths."""
    os.makedirs(folder, exist_ok=True)
    paths: list[str] = []
    for line in command_lines():
        paths.append(os.path.join(folder, f"{line.name}.1"))
        write_output(paths[-1], man_page(line))
    return paths


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("error: expected a folder: python -m tessera_tools.cli.manual build/man/man1")
    print("\n".join(write_man_pages(sys.argv[1])))
