"""docs/commands.md names every option, and its examples run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs.pages import ROOT, check_command, commands

from oracles import require_tool
from tessera_tools.cli import command_line, layout, opt, reduce, run, translate, tune

PAGE = ROOT / "docs" / "commands.md"
TEXT = PAGE.read_text("utf-8")
SECTIONS = {
    "tessera-opt": TEXT.split("## tessera-opt")[1].split("## tessera-translate")[0],
    "tessera-translate": TEXT.split("## tessera-translate")[1].split("## tessera-run")[0],
    "tessera-run": TEXT.split("## tessera-run")[1].split("## tessera-tune")[0],
    "tessera-tune": TEXT.split("## tessera-tune")[1].split("## tessera-layout")[0],
    "tessera-layout": TEXT.split("## tessera-layout")[1].split("## tessera-reduce")[0],
    "tessera-reduce": TEXT.split("## tessera-reduce")[1].split("## The compile cache")[0],
}


def options(names: list[str]) -> list[str]:
    return [f"-{name}" if len(name) == 1 else f"--{name}" for name in names]


pytestmark = pytest.mark.usefixtures("forget_plugins")  # an example of the page loads one

INSPECTION = {*command_line.INSPECTION_FLAGS, *command_line.INSPECTION_VALUES}
"""Options that the section of tessera-translate refers to, and that of tessera-opt explains."""
OPT = options([*opt.FLAGS, *opt.VALUES, *opt.ALIASES, *opt.REPEATED])
RUN = options([*run.FLAGS, *run.REPEATED, *run.VALUES])
LAYOUT = options([*layout.FLAGS, *layout.REPEATED, *layout.VALUES])
REDUCE = options([*reduce.FLAGS, *reduce.REPEATED, *reduce.VALUES])
TUNE = options([*tune.FLAGS, *tune.REPEATED, *tune.VALUES])
TRANSLATE = options(
    [name for name in [*translate.OUTPUTS, *translate.FLAGS, *translate.VALUES] if name not in INSPECTION]
)


@pytest.mark.parametrize("option", OPT)
def test_every_option_of_tessera_opt_is_named(option: str) -> None:
    assert re.search(rf"`[^`\n]*{option}(?![\w-])", SECTIONS["tessera-opt"]), (
        f"docs/commands.md lacks {option}"
    )


@pytest.mark.parametrize("option", TRANSLATE)
def test_every_option_of_tessera_translate_is_named(option: str) -> None:
    assert re.search(rf"`[^`\n]*{option}(?![\w-])", SECTIONS["tessera-translate"]), (
        f"docs/commands.md lacks {option}"
    )


@pytest.mark.parametrize("option", RUN)
def test_every_option_of_tessera_run_is_named(option: str) -> None:
    assert re.search(rf"`[^`\n]*{option}(?![\w-])", SECTIONS["tessera-run"]), (
        f"docs/commands.md lacks {option}"
    )


@pytest.mark.parametrize("option", REDUCE)
def test_every_option_of_tessera_reduce_is_named(option: str) -> None:
    assert re.search(rf"`[^`\n]*{option}(?![\w-])", SECTIONS["tessera-reduce"]), (
        f"docs/commands.md lacks {option}"
    )


@pytest.mark.parametrize("option", TUNE)
def test_every_option_of_tessera_tune_is_named(option: str) -> None:
    assert re.search(rf"`[^`\n]*{option}(?![\w-])", SECTIONS["tessera-tune"]), (
        f"docs/commands.md lacks {option}"
    )


@pytest.mark.parametrize("option", LAYOUT)
def test_every_option_of_tessera_layout_is_named(option: str) -> None:
    assert re.search(rf"`[^`\n]*{option}(?![\w-])", SECTIONS["tessera-layout"]), (
        f"docs/commands.md lacks {option}"
    )


def test_no_option_is_named_that_does_not_exist() -> None:
    from tessera_tools.passes.table import PASSES

    known = {
        *LAYOUT,
        *OPT,
        *REDUCE,
        *RUN,
        *TRANSLATE,
        *TUNE,
        *options(list(PASSES)),
        "--help",
        "--name",
        "--version",
    }
    known.add("--toy-expand")  # of examples/plugin
    named = set(re.findall(r"`(--[a-z][\w-]*\w)", TEXT))
    assert named <= known


def test_the_examples_run(tmp_path: Path) -> None:
    require_tool("ptxas")
    require_tool("nvdisasm")
    for name in ("examples", "test"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "build").mkdir()
    for page in (PAGE, ROOT / "docs" / "tuning.md"):
        for command in commands(
            page, "tessera-layout", "tessera-opt", "tessera-translate", "tessera-run", "tessera-tune"
        ):
            check_command(command, tmp_path)


def test_commands_of_the_pages_leave_files_in_build_alone() -> None:
    outputs = re.compile(
        r"(?:-o|--out|--save-ptx|--save-temps|--report|--crash-reproducer|--mlir-print-ir-tree-dir)[ =](\S+)"
    )
    bad: list[str] = []
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*.md")):
        for command in commands(page, "tessera-opt", "tessera-translate", "tessera-run", "tessera-tune"):
            for name in outputs.findall(command):
                if not name.rpartition("=")[2].startswith(("build/", "-", "/dev/null")):
                    bad.append(f"{page.name}: {command}")
    assert not bad
