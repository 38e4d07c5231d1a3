"""Who may lean on whom: the import arrows of docs/architecture.md, read from the sources."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "tessera_tools"
LONGEST_MODULE = 600

LAYERS = [
    {"records"},
    {"cache", "diagnostics", "process"},
    {"lalr"},
    {"ir"},
    {"opdef"},
    {"dialects"},
    {"parser", "bytecode", "analysis"},
    {"mlir_bytecode"},
    {"planning"},
    {"passes"},
    {"emit"},
    {"report"},
    {"api"},
    {"tuning"},
    {"dsl"},
    {"reduce"},
    {"editor"},
    {"cli"},
]
"""Lowest first: a package imports from layers below its own, and from itself."""

LEAVES = {
    "layout": {"records"},
    "target": {"layout", "records"},
    "sim": {"diagnostics", "lalr", "layout", "records", "target"},
}
"""Packages beside the layers, and all that each may import; `layout` and `target` serve dialects and up."""

RUNTIME = {"cache", "diagnostics", "process", "layout", "records", "target", "sim", "emit"}
"""`emit` for the launch manifest, which both devices read."""

_TYPE_CHECKING = ast.dump(ast.parse("TYPE_CHECKING", mode="eval").body)


def allowed(package: str) -> set[str]:
    """The packages that `package` may import."""
    if package in LEAVES:
        return LEAVES[package] | {package}
    if package == "runtime":
        return RUNTIME | {package}
    rank = next((number for number, layer in enumerate(LAYERS) if package in layer), None)
    assert rank is not None, f"'{package}' has no place in LAYERS or LEAVES: decide who may import it"
    below = set[str]().union(*LAYERS[:rank])
    above_dialects = any("dialects" in layer for layer in LAYERS[: rank + 1])
    extra = {"layout", "target"} if above_dialects else set[str]()
    if package in ("api", "cli", "dsl"):
        extra |= {"sim", "runtime"}
    return below | extra | {package}


def family_of(path: Path) -> str | None:
    """`tessera_tools/passes/llvm/tiles.py` → `llvm`; None for what all families of passes share."""
    parts = path.relative_to(PACKAGE).parts
    return parts[1] if parts[0] == "passes" and len(parts) > 2 else None


def package_of(path: Path) -> str:
    """`tessera_tools/ir/core.py` → `ir`; a module directly in tessera_tools is a package of its own."""
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imports(path: Path) -> list[tuple[int, str]]:
    """Line and package of each import of tessera_tools in the module, those inside functions included."""
    return [(line, name.split(".")[1]) for line, name in imported(path)]


@functools.cache
def tree(path: Path) -> ast.Module:
    """A module's syntax, read once for all tests."""
    return ast.parse(path.read_text(), str(path))


@functools.cache
def import_statements(path: Path) -> list[tuple[ast.Import | ast.ImportFrom, bool, bool]]:
    """Each import of a module, whether it is inside a function, and whether only the type checker sees it.

    Imports are statements: expressions, which are most of a module, are not looked through.
    """
    found: list[tuple[ast.Import | ast.ImportFrom, bool, bool]] = []
    work: list[tuple[ast.AST, bool, bool]] = [(tree(path), False, False)]
    while work:
        node, inside, checked = work.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append((node, inside, checked))
            continue
        inside |= isinstance(node, ast.FunctionDef)
        checked |= isinstance(node, ast.If) and ast.dump(node.test) == _TYPE_CHECKING
        nested = [
            one
            for name in ("body", "orelse", "handlers", "finalbody", "cases")
            for one in getattr(node, name, ())
        ]
        work += [(one, inside, checked) for one in reversed(nested)]
    return found


@functools.cache
def imported(path: Path) -> list[tuple[int, str]]:
    """Line and full name of each import of tessera_tools in the module, those inside functions included."""
    inside = path.relative_to(ROOT).with_suffix("").parts
    found: list[tuple[int, str]] = []
    for node, *_ in import_statements(path):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            base = node.module or ""
            if node.level:
                # For a package's __init__ and for a module alike, one dot is the folder the file stands in.
                anchor = inside[: len(inside) - node.level]
                base = ".".join([*anchor, *([node.module] if node.module else [])])
            names = [f"{base}.{alias.name}" for alias in node.names] if base == "tessera_tools" else [base]
        for name in names:
            parts = name.split(".")
            if parts[0] == "tessera_tools" and len(parts) > 1:
                found.append((node.lineno, name))
    return found


MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_downwards(path: Path) -> None:
    package = package_of(path)
    may = allowed(package)
    known = {entry.stem for entry in PACKAGE.iterdir() if entry.is_dir() or entry.suffix == ".py"}
    bad = [
        f"{path.relative_to(ROOT)}:{line}: '{package}' imports '{target}'"
        for line, target in imports(path)
        if target in known and target not in may
    ]
    assert not bad, "\n".join(bad)


def test_families_of_passes_share_by_the_layers_below() -> None:
    bad: list[str] = []
    for path in MODULES:
        family = family_of(path)
        for line, name in imported(path) if family is not None else ():
            _, package, *rest = name.split(".")
            other = rest[0] if package == "passes" and rest else family
            if other != family and (PACKAGE / "passes" / other).is_dir():
                bad.append(f"{path.relative_to(ROOT)}:{line}: '{family}' imports '{name}'")
    assert not bad, "what two families need belongs in planning/ or analysis/:\n" + "\n".join(bad)


def test_only_tests_import_the_commands() -> None:
    bad = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in MODULES
        if package_of(path) != "cli"
        for line, target in imports(path)
        if target == "cli"
    ]
    assert not bad


STARTS_PROCESSES = {"fork", "forkpty", "posix_spawn", "posix_spawnp", "system", "popen", "execve", "Popen"}
PROCESS_MODULES = {"subprocess", "multiprocessing"}


def test_what_a_compilation_loads_has_the_dataclasses_of_records() -> None:
    """Those of the standard library take half a millisecond each, on every start."""
    own = {"records", "runtime", "sim"}
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in MODULES
        if package_of(path) not in own
        for node, *_ in import_statements(path)
        if "dataclasses" in (getattr(node, "module", None), *(alias.name for alias in node.names))
    ]
    assert not found, "import dataclass from tessera_tools.records instead"


def test_processes_are_started_by_one_module() -> None:
    bad: list[str] = []
    mentioned = re.compile(rf"\bos\b[\s\\]*\.[\s\\]*({'|'.join(STARTS_PROCESSES)})\b")
    for path in MODULES:
        if path == PACKAGE / "process.py":
            continue
        here = path.relative_to(ROOT)
        for node, *_ in import_statements(path):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module]
            bad += [f"{here}:{node.lineno}: {name}" for name in names if name in PROCESS_MODULES]
        if mentioned.search(path.read_text()) is None:
            continue
        bad += [
            f"{here}:{node.lineno}: os.{node.attr}"
            for node in ast.walk(tree(path))
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "os"
            and node.attr in STARTS_PROCESSES
        ]
    assert not bad


CIRCLES = {frozenset({"ir.core", "ir.printing", "ir.location_aliases", "ir.resources"})}
"""Modules that reach each other by imports inside functions: an op that is part of a message prints itself.  A circle
that is opened leaves the table; none is added: what two modules need of each other moves to a third below both."""


def dependencies(path: Path, inside_functions: bool) -> set[str]:
    """The modules of the package that a module imports when it runs, without `tessera_tools.`."""
    found: set[str] = set()
    for node, inside, checked in import_statements(path):
        if checked or (inside and not inside_functions):
            continue
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            while name not in BY_NAME and "." in name:
                name = name.rpartition(".")[0]
            if name in BY_NAME and BY_NAME[name] != path:
                found.add(name)
    return found


def _name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


BY_NAME = {_name(path): path for path in MODULES}


def circles(inside_functions: bool) -> set[frozenset[str]]:
    """The sets of modules that reach each other by imports."""
    direct = {name: dependencies(path, inside_functions) for name, path in BY_NAME.items()}
    reached: dict[str, set[str]] = {}
    for name in direct:
        work, seen = [name], set[str]()
        while work:
            for other in direct[work.pop()] - seen:
                seen.add(other)
                work.append(other)
        reached[name] = seen
    return {
        frozenset(other.removeprefix("tessera_tools.") for other in found if name in reached[other])
        for name, found in reached.items()
        if name in found
    }


def test_modules_are_imported_in_one_order() -> None:
    assert not circles(inside_functions=False)


def test_imports_inside_functions_close_no_further_circle() -> None:
    assert circles(inside_functions=True) == CIRCLES


def test_no_module_is_longer_than_a_reader_can_hold() -> None:
    sources = [*PACKAGE.rglob("*.py"), *(ROOT / "tools").rglob("*.py"), *(ROOT / "test").rglob("*.py")]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in sources}
    assert not {path: length for path, length in lengths.items() if length > LONGEST_MODULE}


def test_relative_imports_are_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / "tessera_tools" / "ir" / "core.py"
    module.parent.mkdir(parents=True)
    module.write_text("from ..cli import opt\nfrom . import types\nimport tessera_tools.emit.ptx\n")
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    assert imports(module) == [(1, "cli"), (2, "ir"), (3, "emit")]
