"""The TextMate grammar is that of the declarations; editors/vscode/test has the tests of its tokens."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tessera_tools.editor import textmate
from tessera_tools.opdef.dialect import all_dialects
from tessera_tools.opdef.documentation import own_ops
from tessera_tools.opdef.registry import DIALECT_MODULES
from tessera_tools.passes.table import stages_from

EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"


def test_the_committed_grammar_is_fresh() -> None:
    assert textmate.PATH.read_text("utf-8") == textmate.text(), f"it is stale: run `{textmate.COMMAND}`"


def test_a_grammar_is_written_only_if_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "new" / "mlir.json"
    assert textmate.write(path)
    assert not textmate.write(path)
    assert [one.name for one in path.parent.iterdir()] == ["mlir.json"]
    assert json.loads(path.read_text("utf-8"))["scopeName"] == "source.mlir"


def test_every_declared_operation_is_in_it() -> None:
    rules = textmate.grammar()["repository"]["declared-operations"]["patterns"]
    declared = [name for one in all_dialects() if one.name in DIALECT_MODULES for name in own_ops(one)]
    assert len(declared) > 500
    patterns = [re.compile(rule["match"]) for rule in rules]
    missing = [name for name in declared if not any(pattern.fullmatch(name) for pattern in patterns)]
    assert not missing


@pytest.mark.parametrize("word", ["arith.frobnicate", "nobody.addi", "addi"])
def test_no_other_name_is_declared(word: str) -> None:
    rules = textmate.grammar()["repository"]["declared-operations"]["patterns"]
    assert not any(re.fullmatch(rule["match"], word) for rule in rules)


def test_what_is_included_exists() -> None:
    made = textmate.grammar()

    def includes(rule: Any) -> set[str]:
        if isinstance(rule, list):
            return set().union(*map(includes, rule))
        if isinstance(rule, dict):
            return set().union(*map(includes, rule.values())) | (
                {rule["include"]} if "include" in rule else set()
            )
        return set()

    assert {name.removeprefix("#") for name in includes(made)} <= set(made["repository"])


# -- the extension


def package() -> dict[str, Any]:
    return json.loads((EXTENSION / "package.json").read_text("utf-8"))


def test_the_files_that_the_extension_names_exist() -> None:
    contributes = package()["contributes"]
    named = [one["path"] for one in contributes["grammars"]]
    named += [one["configuration"] for one in contributes["languages"]]
    assert all((EXTENSION / name).is_file() for name in named)


def test_the_extension_has_the_settings_of_the_server() -> None:
    from tessera_tools.editor.service import Settings

    def flat(settings: dict[str, Any], prefix: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in settings.items():
            found |= (
                flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
            )
        return found

    declared = package()["contributes"]["configuration"]["properties"]
    usual = flat(Settings().json(), "tessera.")
    assert {name: declared[name]["default"] for name in usual} == usual


def test_every_command_of_the_extension_is_registered_by_its_source() -> None:
    source = (EXTENSION / "src" / "extension.ts").read_text("utf-8")
    registered = set(re.findall(r'registerCommand\("([\w.]+)"', source))
    assert registered == {one["command"] for one in package()["contributes"]["commands"]}


def test_the_extension_offers_the_stages_of_the_server() -> None:
    source = (EXTENSION / "src" / "shown.ts").read_text("utf-8")
    _, *stages = stages_from("cuda_tile")
    assert re.findall(r'label: "(\w+)"', source) == ["next", *stages, "llvmir", "ptx"]


def test_the_lock_file_names_no_registry_but_the_public_one() -> None:
    lock = json.loads((EXTENSION / "package-lock.json").read_text("utf-8"))
    places = {one["resolved"] for one in lock["packages"].values() if "resolved" in one}
    assert all(place.startswith("https://registry.npmjs.org/") for place in places)
    assert lock["packages"][""]["devDependencies"] == package()["devDependencies"]
