"""Command lines as LLVM's `cl` library reads them: `-name` and `--name`, values after `=` or as the next argument.

click parses `-gpu-name` as a group of one-letter options, so it cannot read these.
Source: LLVM's CommandLine manual, and the messages of tileiras 13.5.
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
import textwrap
from collections.abc import Mapping, Sequence

from tessera_tools.records import dataclass, field

__all__ = ["Option", "Parsed", "Syntax"]


class _Mistake(Exception):
    """An argument is not valid; the text is the message, without the name of the program."""


@dataclass
class Parsed:
    """What a command line says."""

    values: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Values by the name of the option. A flag has the value "1", or "" where it is switched off."""
    path: str | None = None
    """The input file."""
    asked: str = ""
    """The option that ends the command line, such as `help`: nothing after it was read."""
    mistakes: list[str] = field(default_factory=list[str])
    """One message for each argument that is not valid."""


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
    ends: bool = False
    """The program answers it and exits, whatever follows."""
    bare: bool = False
    """A flag without `=true` and `=false`."""
    features: tuple[str, ...] = ()
    """The valid words of a value that is a list with commas; without them, any text."""


@dataclass(frozen=True)
class Syntax:
    """The options of a program, and at most one input file."""

    program: str
    overview: str
    options: Sequence[Option]

    def parse(self, argv: Sequence[str]) -> Parsed:
        """Reads the arguments, and the response files `@file` among them. Mistakes are collected, not raised."""
        parsed = Parsed()
        inputs: list[str] = []
        try:
            arguments = _expanded(argv)
        except _Mistake as mistake:
            return Parsed(mistakes=[str(mistake)])
        while arguments and not parsed.asked:
            argument = arguments.pop(0)
            if argument == "--":
                inputs += arguments
                break
            if not argument.startswith("-") or argument == "-":
                inputs.append(argument)
                continue
            try:
                self._read(argument, arguments, parsed)
            except _Mistake as mistake:
                parsed.mistakes += str(mistake).splitlines()
        if len(inputs) > 1 and not parsed.asked:
            parsed.mistakes.append(
                f"Too many positional arguments specified!\n"
                f"Can specify at most 1 positional arguments: See: {self.program} --help"
            )
        parsed.path = inputs[0] if inputs and inputs[0] else None
        return parsed

    def _read(self, argument: str, following: list[str], parsed: Parsed) -> None:
        """Adds one option to `parsed`, with its value from `following` if the argument has none."""
        option, spelled, value = self._option(argument)
        if option.value and value is None:
            if (option.prefix and len(spelled) == 2) or not following:
                raise _Mistake(f"for the {spelled} option: requires a value!")
            value = following.pop(0)
        checked = self._checked(option, spelled, value)
        parsed.values.setdefault(option.name, []).append(checked)
        if option.ends and checked:
            parsed.asked = option.name

    def _option(self, argument: str) -> tuple[Option, str, str | None]:
        """The option of an argument, as it was spelled, and its value if the argument has one."""
        name, equals, value = re.sub(r"\A--?", "", argument).partition("=")
        for option in self.options:
            if name in (option.name, *option.aliases) and not (option.prefix and len(name) == 1):
                return option, _spelled(name), value if equals else None
        for option in self.options:
            for alias in option.aliases if option.prefix else ():
                if name.startswith(alias):
                    return option, f"-{alias}", argument.lstrip("-")[len(alias) :] or None
        message = f"Unknown command line argument '{argument}'.  Try: '{self.program} --help'"
        near = difflib.get_close_matches(name.lstrip("-"), [option.name for option in self.options], n=1)
        raise _Mistake(message + (f"\nDid you mean '{_spelled(near[0])}{equals}{value}'?" if near else ""))

    def _checked(self, option: Option, spelled: str, value: str | None) -> str:
        if not option.value:
            if option.bare and value is not None:
                raise _Mistake(f"for the {spelled} option: does not allow a value! '{value}' specified.")
            if value not in (None, "", "0", "1", "true", "false", "TRUE", "FALSE", "True", "False"):
                raise _Mistake(
                    f"for the {spelled} option: '{value}' is invalid value for boolean argument! Try 0 or 1"
                )
            return "" if value is not None and value.lower() in ("0", "false") else "1"
        assert value is not None
        name = _spelled(option.name)
        if option.choices and value not in option.choices:
            raise _Mistake(f"for the {name} option: Cannot find option named '{value}'!")
        for feature in value.split(",") if option.features else ():
            if feature not in option.features:
                known = ", ".join(option.features)
                raise _Mistake(
                    f"for the {name} option: unknown preview feature '{feature}'; supported features: {known}"
                )
        if option.integer:
            number = _integer(value)
            if number is None:
                raise _Mistake(f"for the {name} option: '{value}' value invalid for integer argument!")
            return str(number)
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


_RESPONSE_LIMIT = 1 << 20
"""Bytes of response files together."""
_NESTED = 16
"""How deep response files may name others."""


def _expanded(argv: Sequence[str]) -> list[str]:
    """The arguments, with each `@file` replaced by those in the file. A file that does not exist stays an argument."""
    left = _RESPONSE_LIMIT

    def expand(arguments: Sequence[str], depth: int) -> list[str]:
        nonlocal left
        found: list[str] = []
        for argument in arguments:
            path = argument[1:]
            if not (argument.startswith("@") and os.path.isfile(path)):
                found.append(argument)
                continue
            try:
                with open(path, encoding="utf-8") as file:
                    text = file.read(left + 1)
                left -= len(text)
                if left < 0 or depth == _NESTED:
                    raise _Mistake(f"the response file '{path}' is too long, or names itself")
                found += expand(shlex.split(text), depth + 1)
            except (OSError, ValueError) as failure:
                raise _Mistake(f"the response file '{path}' cannot be read: {failure}") from None
        return found

    return expand(argv, 0)


def _integer(text: str) -> int | None:
    """A number of 32 bits as C writes it: `2`, `-1`, `0x2`, `0b10`, `0o2` and `02`."""
    if (
        not re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|0[bB][01]+|0o?[0-7]+|0|[1-9][0-9]{0,9})", text)
        or len(text) > 40
    ):
        return None
    octal = re.sub(r"\A(-?)0(?=[0-7])", r"\g<1>0o", text)
    number = int(octal, 0)
    return number if -(2**31) <= number < 2**31 else None


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
