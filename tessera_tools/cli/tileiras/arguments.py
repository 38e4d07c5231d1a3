"""Command lines as LLVM's `cl` library reads them: `-name` and `--name`, values after `=` or as the next argument.

click parses `-gpu-name` as a group of one-letter options, so it cannot read these.
Source: LLVM's CommandLine manual, and the messages of tileiras 13.5.
"""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["Option", "Syntax", "UsageError"]


class UsageError(Exception):
    """The command line is not valid; the text has one message per line, without the name of the program."""


@dataclass(frozen=True)
class Option:
    """One option. Without `value` it is a flag."""

    name: str
    help: str
    value: str = ""
    """The placeholder of its value in the help."""
    choices: Mapping[str, str] = field(default_factory=dict[str, str])
    """The valid values and what they mean; without them, any text."""
    aliases: tuple[str, ...] = ()
    prefix: bool = False
    """Its one-letter alias is followed directly by the value: `-O3`."""
    integer: bool = False
    group: str = "Options"
    repeated: bool = False
    """May be given several times; the values are collected."""


@dataclass(frozen=True)
class Syntax:
    """The options of a program, and at most one input file."""

    program: str
    overview: str
    options: Sequence[Option]

    def parse(self, argv: Sequence[str]) -> tuple[dict[str, list[str]], str | None]:
        """(values by the name of the option, the input file). A flag has the value "1". Raises UsageError."""
        found: dict[str, list[str]] = {}
        inputs: list[str] = []
        arguments = list(argv)
        while arguments:
            argument = arguments.pop(0)
            if argument == "--":
                inputs += arguments
                break
            if not argument.startswith("-") or argument == "-":
                inputs.append(argument)
                continue
            option, spelled, value = self._option(argument)
            if option.value and value is None:
                if (option.prefix and len(spelled) == 2) or not arguments:
                    raise UsageError(f"for the {spelled} option: requires a value!")
                value = arguments.pop(0)
            found.setdefault(option.name, []).append(self._checked(option, spelled, value))
        if len(inputs) > 1:
            raise UsageError(
                f"Too many positional arguments specified!\n"
                f"Can specify at most 1 positional arguments: See: {self.program} --help"
            )
        return found, inputs[0] if inputs else None

    def _option(self, argument: str) -> tuple[Option, str, str | None]:
        """The option of an argument, as it was spelled, and its value if the argument has one."""
        name, equals, value = argument.lstrip("-").partition("=")
        for option in self.options:
            if name in (option.name, *option.aliases) and not (option.prefix and len(name) == 1):
                return option, _spelled(name), value if equals else None
        for option in self.options:
            for alias in option.aliases if option.prefix else ():
                if argument.startswith(f"-{alias}") and not argument.startswith("--"):
                    return option, f"-{alias}", argument[1 + len(alias) :] or None
        message = f"Unknown command line argument '{argument}'.  Try: '{self.program} --help'"
        near = difflib.get_close_matches(name, [option.name for option in self.options], n=1)
        raise UsageError(message + (f"\nDid you mean '{_spelled(near[0])}'?" if near else ""))

    def _checked(self, option: Option, spelled: str, value: str | None) -> str:
        if not option.value:
            if value not in (None, "", "0", "1", "true", "false", "TRUE", "FALSE", "True", "False"):
                raise UsageError(
                    f"for the {spelled} option: '{value}' is invalid value for boolean argument! Try 0 or 1"
                )
            return "" if value is not None and value.lower() in ("0", "false") else "1"
        assert value is not None
        if option.choices and value not in option.choices:
            raise UsageError(f"for the {spelled} option: Cannot find option named '{value}'!")
        if option.integer and not (value.isascii() and value.isdecimal() and len(value) < 10):
            raise UsageError(f"for the {spelled} option: '{value}' value invalid for integer argument!")
        return value

    def help(self) -> str:
        """The text of `--help`, in LLVM's form."""
        lines = [
            f"OVERVIEW: {self.overview}",
            "",
            f"USAGE: {self.program} [options] <tile bytecode file>",
            "",
            "OPTIONS:",
        ]
        group = ""
        for option in self.options:
            if option.group != group:
                group = option.group
                lines += ["", f"{group}:", ""]
            names = ", ".join(_spelled(name) for name in (option.name, *option.aliases))
            shown = f"{names}=<{option.value}>" if option.value else names
            lines += _entry(f"  {shown}", option.help)
            for choice, text in option.choices.items():
                lines += _entry(f"    ={choice}", f"  {text}")
        return "\n".join(lines) + "\n"


def _spelled(name: str) -> str:
    return f"-{name}" if len(name) == 1 else f"--{name}"


_COLUMN = 35


def _entry(start: str, text: str) -> list[str]:
    """A line of the help, wrapped to 110 columns."""
    indent = " " * (_COLUMN + 2 + len(text) - len(text.lstrip()))
    wrapped = textwrap.wrap(text.lstrip(), 110 - len(indent))
    first = f"{start:{_COLUMN}}- {' ' * (len(indent) - _COLUMN - 2)}{wrapped[0]}"
    if len(start) >= _COLUMN:
        return [start, f"{'':{_COLUMN}}- {wrapped[0]}", *(f"{indent}{one}" for one in wrapped[1:])]
    return [first, *(f"{indent}{one}" for one in wrapped[1:])]
