"""`records.dataclass` does what `dataclasses.dataclass` does."""

from __future__ import annotations

import copy
import dataclasses
import subprocess
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from tessera_tools import records

OPTIONS = [
    {},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True},
    {"eq": False},
    {"frozen": True, "eq": False, "slots": True},
    {"repr": False},
]


def _classes(module: Any, options: dict[str, bool]) -> tuple[type[Any], type[Any]]:
    """A class and one that derives from it."""

    @module.dataclass(**options)
    class Point:
        x: int
        y: int = 2
        tags: list[str] = module.field(default_factory=list)
        hidden: str = module.field(default="h", repr=False, compare=False)
        unit: ClassVar[str] = "m"

        def norm(self) -> int:
            return abs(self.x) + abs(self.y)

    @module.dataclass(**options)
    class Named(Point):
        y: int = 5
        name: str = module.field(default="n", metadata={"summary": "what it is called"})

        def __post_init__(self) -> None:
            if self.y < 0:
                raise ValueError("below")
            object.__setattr__(self, "name", self.name.upper())

    return Point, Named


def outcome(action: Callable[[], Any]) -> tuple[str, Any]:
    try:
        return "value", action()
    except Exception as failure:
        return type(failure).__name__, str(failure).replace("keyword argument", "argument").partition(
            " argument"
        )[0]


def _observations(module: Any, options: dict[str, bool]) -> list[Any]:
    """What can be seen of the two classes."""
    point, named = _classes(module, options)
    one, same, other = point(1), point(x=1, hidden="z"), named(1, 3, ["t"])
    found: list[Any] = [
        one == same, one != same, one == other, other == named(1, 3, ["t"]), one.__eq__(7),
        one.norm(), other.norm(), point.unit, one.tags is same.tags, other.name, one.hidden,
        named.__match_args__, hasattr(one, "__dict__"), copy.copy(other).name, copy.deepcopy(other).tags,
        [(entry.name, dict(entry.metadata)) for entry in module.fields(named)],
        [entry.name for entry in module.fields(one)],
        module.asdict(other), module.replace(other, x=9).x, module.replace(other, x=9).tags,
        outcome(lambda: named(1, -1)), outcome(point),
        outcome(lambda: point(1, 2, [], "h", 5)), outcome(lambda: point(1, z=3)),
        outcome(lambda: setattr(one, "x", 4)), one.x, outcome(lambda: delattr(point(4), "y")),
        outcome(lambda: setattr(one, "new", 4)) if not options.get("slots") else None,
        named.__hash__ is None, point.__init__.__qualname__,
    ]  # fmt: skip
    if options.get("repr", True):
        found += [repr(one), repr(other)]
    if options.get("frozen") and options.get("eq", True):
        found += [hash(point(1, 2, ())) == hash((1, 2, ())), outcome(lambda: hash(one))]  # type: ignore[arg-type]
    match other:
        case named(x, y, tags):
            found += [x, y, tags]
    return found


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_class_is_as_the_standard_library_makes_it(options: dict[str, bool]):
    assert _observations(records, options) == _observations(dataclasses, options)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_standard_library_accepts_a_class(options: dict[str, bool]):
    _, named = _classes(records, options)
    one = named(1, tags=["t"])
    assert dataclasses.is_dataclass(one)
    assert dataclasses.asdict(one) == {"x": 1, "y": 5, "tags": ["t"], "hidden": "h", "name": "N"}
    assert dataclasses.replace(one, name="m").name == "M"
    assert dataclasses.fields(named)[-1].metadata == {"summary": "what it is called"}


def test_a_standard_dataclass_may_derive_from_a_class():
    point, _ = _classes(records, {"frozen": True})

    @dataclasses.dataclass(frozen=True)
    class Third(point):
        z: int = 7

    assert (Third(1).y, Third(1).z) == (2, 7)
    assert [entry.name for entry in records.fields(Third)] == ["x", "y", "tags", "hidden", "z"]
    assert records.replace(Third(1), z=8) == Third(1, z=8)


def test_a_class_keeps_the_methods_that_it_defines():
    @records.dataclass(frozen=True)
    class Loud:
        x: int

        def __init__(self) -> None:
            object.__setattr__(self, "x", 3)

        def __repr__(self) -> str:
            return "loud"

        def __hash__(self) -> int:
            return 5

    assert (Loud().x, repr(Loud()), hash(Loud()), Loud() == Loud()) == (3, "loud", 5, True)


def test_a_default_that_can_be_changed_is_refused():
    with pytest.raises(ValueError, match="use default_factory"):

        @records.dataclass
        class _Shared:
            x: list[int] = []  # noqa: RUF012


def test_one_of_a_class_and_its_base_cannot_be_frozen():
    point, _ = _classes(records, {"frozen": True})
    with pytest.raises(TypeError, match="one of .* is frozen"):

        @records.dataclass
        class _Loose(point):
            z: int = 1


def test_a_base_of_the_standard_library_is_refused():
    point, _ = _classes(dataclasses, {})
    with pytest.raises(TypeError, match="derives from .*Point, a dataclass of the standard library"):

        @records.dataclass
        class _Derived(point):
            z: int = 1


def test_an_object_without_fields_is_refused():
    with pytest.raises(TypeError, match="3 is no dataclass"):
        records.fields(3)  # type: ignore[arg-type]


def test_a_class_imports_nothing():
    code = (
        "import sys; before = set(sys.modules)\n"
        "from tessera_tools.records import dataclass\n"
        "@dataclass(frozen=True, slots=True)\nclass A:\n  x: int\n"
        "assert A(1) == A(1) and hash(A(1)) and repr(A(1)) == 'A(x=1)'\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert set(done.stdout.split()) - {"__future__"} == {"tessera_tools", "tessera_tools.records"}


def test_a_standard_dataclass_may_have_fields_of_records() -> None:
    """The passes of plugins are such classes: their options are fields that `tessera_tools` makes."""

    @dataclasses.dataclass(frozen=True)
    class Point:
        x: int = records.field(default=1, metadata={"summary": "right"})
        tags: list[str] = records.field(default_factory=list)  # noqa: RUF009  # what is tested

    assert Point() == Point(1, [])
    assert [(one.name, dict(one.metadata)) for one in dataclasses.fields(Point)] == [
        ("x", {"summary": "right"}),
        ("tags", {}),
    ]
