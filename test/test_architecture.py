"""Who may lean on whom: the import arrows of docs/architecture.md, read from the sources."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "tessera_tools"
LONGEST_MODULE = 600

LAYERS = [
    {"cache", "diagnostics", "process"},
    {"lalr"},
    {"ir"},
    {"opdef"},
    {"dialects"},
    {"parser", "bytecode", "analysis"},
    {"planning"},
    {"passes"},
    {"emit"},
    {"api"},
    {"cli"},
]
"""Lowest first: a package imports from layers below its own, and from itself."""

LEAVES = {"layout": set[str](), "target": {"layout"}, "sim": {"diagnostics", "lalr", "layout", "target"}}
"""Packages beside the layers, and all that each may import; `layout` and `target` serve dialects and up."""

RUNTIME = {"cache", "diagnostics", "process", "layout", "target", "sim", "emit"}
"""`emit` for the launch manifest, which both devices read."""


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
    if package in ("api", "cli"):
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
def imported(path: Path) -> list[tuple[int, str]]:
    """Line and full name of each import of tessera_tools in the module, those inside functions included."""
    inside = path.relative_to(ROOT).with_suffix("").parts
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree(path)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
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


def test_processes_are_started_by_one_module() -> None:
    bad: list[str] = []
    for path in MODULES:
        if path == PACKAGE / "process.py":
            continue
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif (
                isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os"
            ):
                names = ["os." + node.attr] if node.attr in STARTS_PROCESSES else []
            else:
                continue
            wrong = {"subprocess", "multiprocessing"} | {f"os.{name}" for name in STARTS_PROCESSES}
            bad += [f"{path.relative_to(ROOT)}:{node.lineno}: {name}" for name in names if name in wrong]
    assert not bad


CIRCLES = {
    "ir.types": {"ir.builtin_attributes"},
    "ir.core": {"ir.printing", "ir.location_aliases", "ir.resources"},
    "parser.attributes": {"parser.affine", "parser.dense", "parser.locations"},
    "parser.scanner": {"parser.aliases"},
    "dialects.cuda_tile.legacy": {
        "dialects.cuda_tile.control_flow",
        "dialects.cuda_tile.core_ops",
        "dialects.cuda_tile.structure",
        "dialects.cuda_tile.views",
    },
    "passes.base": {"passes.manager", "passes.pipeline", "passes.statistics"},
}
"""Modules that import each other, by imports inside functions: each circle by one of its modules.  A circle that is
opened leaves the table; none is added."""


_TYPE_CHECKING = ast.dump(ast.parse("TYPE_CHECKING", mode="eval").body)


def dependencies(path: Path, inside_functions: bool) -> set[str]:
    """The modules of the package that a module imports when it runs, without `tessera_tools.`."""
    found: set[str] = set()
    work: list[ast.AST] = [tree(path)]
    while work:
        for node in ast.iter_child_nodes(work.pop()):
            checked = isinstance(node, ast.If) and ast.dump(node.test) == _TYPE_CHECKING
            if checked or (isinstance(node, ast.FunctionDef) and not inside_functions):
                continue
            work.append(node)
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
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
    known = [{one, *others} for one, others in CIRCLES.items()]
    assert not [
        sorted(found) for found in circles(inside_functions=True) if not any(found <= k for k in known)
    ]


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
