"""`dataclass` of the standard library, in a form that starts fast.

The standard library compiles up to six functions for each class where the class is defined, and imports `inspect`: 90
of the 320 ms of a small compilation. Here the functions of a class are compiled when they are first called, and most
classes are never instantiated. Type checkers see the standard `dataclass`. `dataclasses.fields`, `replace` and `asdict`
accept these classes, and a standard dataclass may derive from one.

What a compilation imports uses this module. `sim` and `runtime` use the standard one.
Supported are `frozen`, `slots`, `eq`, `repr`, `ClassVar`, `__post_init__`, and `field` without `init`, `hash` and
`kw_only`.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import dataclasses
    from collections.abc import Callable, Mapping, Sequence
    from dataclasses import asdict, dataclass, field, fields, replace
    from types import FunctionType
    from typing import Any, TypeAlias

    Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
    """What JSON holds."""

__all__ = ["Json", "asdict", "dataclass", "field", "fields", "replace"]

_MISSING = object()
_FIELDS = "__record_fields__"


class _Field:
    """A field. Without a default, both defaults are `_MISSING`."""

    __slots__ = ("compare", "default", "default_factory", "metadata", "name", "repr", "type")

    def __init__(
        self,
        *,
        default: object = _MISSING,
        default_factory: object = _MISSING,
        repr: bool = True,
        compare: bool = True,
        metadata: Mapping[str, object] | None = None,
    ) -> None:
        self.name = ""
        self.type: object = None
        self.default = default
        self.default_factory = default_factory
        self.repr = repr
        self.compare = compare
        self.metadata: Mapping[str, object] = {} if metadata is None else metadata


_SLOT = type(_Field.name)


class _Standard:
    """The fields as `dataclasses` expects them, made when something asks for them."""

    def __get__(self, instance: object, owner: type) -> Mapping[str, dataclasses.Field[object]]:
        import dataclasses

        found: dict[str, dataclasses.Field[object]] = {}
        for name, one in getattr(owner, _FIELDS).items():
            given = {
                word: value
                for word in ("default", "default_factory")
                if (value := getattr(one, word)) is not _MISSING
            }
            made: Any = dataclasses.field(repr=one.repr, compare=one.compare, metadata=one.metadata, **given)
            made.name, made.type = name, one.type
            made._field_type = dataclasses._FIELD  # type: ignore[attr-defined]
            made.kw_only = False
            found[name] = made
        return found


class _Parameters:
    """What `dataclasses` asks of the base of a class."""

    def __init__(self, frozen: bool) -> None:
        self.frozen = frozen


def _process(cls: Any, frozen: bool, slots: bool, eq: bool, repr: bool) -> Any:
    found: dict[str, _Field] = {}
    for base in cls.__mro__[-1:0:-1]:
        if _is_standard(base):
            raise TypeError(
                f"{cls.__qualname__} derives from {base.__qualname__}, a dataclass of the standard library"
            )
        if _FIELDS in base.__dict__:
            found.update(base.__dict__[_FIELDS])
            if base.__dataclass_params__.frozen != frozen:
                raise TypeError(f"one of {cls.__qualname__} and its base {base.__qualname__} is frozen")
    for name, annotation in cls.__dict__.get("__annotations__", {}).items():  # noqa: RUF063  # `inspect`
        if not str(annotation).removeprefix("typing.").startswith("ClassVar"):
            found[name] = _own_field(cls, name, annotation)
    own = dict(cls.__dict__)
    if slots:
        cls = _with_slots(cls, found)
    setattr(cls, _FIELDS, found)
    cls.__dataclass_fields__ = _Standard()
    cls.__dataclass_params__ = _Parameters(frozen)
    if "__match_args__" not in own:
        cls.__match_args__ = tuple(found)
    compared = [name for name, one in found.items() if one.compare]
    hashed = "__hash__" in own and not (own["__hash__"] is None and "__eq__" in own)
    made: dict[str, Callable[[], str]] = {"__init__": lambda: _init(cls, found, frozen)}
    if repr:
        made["__repr__"] = lambda: _repr([name for name, one in found.items() if one.repr])
    if eq:
        made["__eq__"] = lambda: _eq(compared)
        if frozen and not hashed:
            made["__hash__"] = lambda: _hash(compared)
            own.pop("__hash__", None)
        elif not hashed:
            cls.__hash__ = None
    for name, make in made.items():
        if name not in own:
            setattr(cls, name, _when_called(cls, name, make, found))
    if frozen:
        _freeze(cls, found)
    return cls


def _is_standard(cls: type) -> bool:
    return isinstance(cls.__dict__.get("__dataclass_fields__"), dict)


def _own_field(cls: type, name: str, annotation: object) -> _Field:
    """The field of an annotation; its default stays an attribute of the class."""
    default = getattr(cls, name, _MISSING)
    standard = sys.modules.get("dataclasses")
    if standard is not None and isinstance(default, standard.Field):
        words = ("default", "default_factory", "repr", "compare", "metadata")
        given = {word: getattr(default, word) for word in words}
        default = _Field(**{word: value for word, value in given.items() if value is not standard.MISSING})
    if isinstance(default, _Field):
        one = default
        if one.default is _MISSING:
            delattr(cls, name)
        else:
            setattr(cls, name, one.default)
    else:
        one = _Field(default=_MISSING if type(default) is _SLOT else default)
    if one.default is not _MISSING and type(one.default).__hash__ is None:
        raise ValueError(f"the default of {cls.__qualname__}.{name} can be changed: use default_factory")
    one.name, one.type = name, annotation
    return one


def _with_slots(cls: Any, found: Mapping[str, _Field]) -> Any:
    """The class again, with a slot for each field that its bases have none for."""
    inherited = {name for base in cls.__mro__[1:-1] for name in base.__dict__.get("__slots__", ())}
    own = {name: value for name, value in cls.__dict__.items() if name not in found}
    own.pop("__dict__", None)
    own.pop("__weakref__", None)
    own["__slots__"] = tuple(name for name in found if name not in inherited)
    made = type(cls)(cls.__name__, cls.__bases__, own)
    made.__qualname__ = cls.__qualname__
    return made


# -- the methods


def _when_called(
    cls: type, name: str, make: Callable[[], str], found: Mapping[str, _Field]
) -> Callable[..., object]:
    """A method that is compiled from the source that `make` returns, and takes its own place, when it is called."""

    def method(self: object, *arguments: object, **named: object) -> object:
        known: dict[str, object] = {"_missing": _MISSING, "_set": object.__setattr__}
        for field_name, one in found.items():
            known[f"_default_{field_name}"] = one.default
            known[f"_make_{field_name}"] = one.default_factory
        scope: dict[str, FunctionType] = {}
        exec(make(), known, scope)
        function = scope[name]
        function.__qualname__ = f"{cls.__qualname__}.{name}"
        function.__module__ = cls.__module__
        setattr(cls, name, function)
        return function(self, *arguments, **named)

    return method


def _init(cls: type, found: Mapping[str, _Field], frozen: bool) -> str:
    parameters: list[str] = []
    body: list[str] = []
    for name, one in found.items():
        value = name
        if one.default is not _MISSING:
            parameters.append(f"{name}=_default_{name}")
        elif one.default_factory is not _MISSING:
            parameters.append(f"{name}=_missing")
            value = f"_make_{name}() if {name} is _missing else {name}"
        else:
            parameters.append(name)
        body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    lines = "\n    ".join(body or ["pass"])
    return f"def __init__({', '.join(['self', *parameters])}):\n    {lines}\n"


def _repr(names: list[str]) -> str:
    shown = ", ".join(f"{name}={{self.{name}!r}}" for name in names)
    return f"def __repr__(self):\n    return f'{{self.__class__.__qualname__}}({shown})'\n"


def _values(of: str, names: list[str]) -> str:
    return "(" + "".join(f"{of}.{name}, " for name in names) + ")"


def _eq(names: list[str]) -> str:
    compare = f"{_values('self', names)} == {_values('other', names)}"
    same = "other.__class__ is self.__class__"
    return f"def __eq__(self, other):\n    return {compare} if {same} else NotImplemented\n"


def _hash(names: list[str]) -> str:
    return f"def __hash__(self):\n    return hash({_values('self', names)})\n"


def _freeze(cls: Any, found: Mapping[str, _Field]) -> None:
    def refuse(self: Any, name: str, *value: Any) -> None:
        if type(self) is cls or name in found:
            from dataclasses import FrozenInstanceError

            raise FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")
        (super(cls, self).__setattr__ if value else super(cls, self).__delattr__)(name, *value)

    cls.__setattr__ = cls.__delattr__ = refuse
    if "__slots__" in cls.__dict__:  # copies, whose attributes would be set otherwise
        for name, method in (("__getstate__", _get_state), ("__setstate__", _set_state)):
            if name not in cls.__dict__:
                setattr(cls, name, method)


def _get_state(self: object) -> list[object]:
    return [getattr(self, name) for name in getattr(self, _FIELDS)]


def _set_state(self: object, state: list[object]) -> None:
    for name, value in zip(getattr(self, _FIELDS), state, strict=True):
        object.__setattr__(self, name, value)


# -- the functions of `dataclasses` that are used here

if not TYPE_CHECKING:
    Json = object

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True, repr=True):
        """As `dataclasses.dataclass`."""
        if cls is None:
            return lambda cls: _process(cls, frozen, slots, eq, repr)
        return _process(cls, frozen, slots, eq, repr)

    def field(**given):
        """As `dataclasses.field`: a field that the standard `dataclass`, where a plugin may use it, understands too."""
        standard = sys.modules.get("dataclasses")
        return _Field(**given) if standard is None else standard.field(**given)

    def fields(record):
        """As `dataclasses.fields`."""
        for cls in (record if isinstance(record, type) else type(record)).__mro__:
            if _FIELDS in cls.__dict__:
                return tuple(cls.__dict__[_FIELDS].values())
            if _is_standard(cls):  # a pass of another package
                return tuple(cls.__dict__["__dataclass_fields__"].values())
        raise TypeError(f"{record!r} is no dataclass")

    def replace(record, /, **changes):
        """As `dataclasses.replace`."""
        for one in fields(record):
            if one.name not in changes:
                changes[one.name] = getattr(record, one.name)
        return record.__class__(**changes)

    def asdict(record):
        """As `dataclasses.asdict`, for values that JSON has: others are not copied."""
        return {one.name: _plain(getattr(record, one.name)) for one in fields(record)}

    def _plain(value):
        if hasattr(type(value), _FIELDS):
            return asdict(value)
        if isinstance(value, (list, tuple)):
            return type(value)(map(_plain, value))
        if isinstance(value, dict):
            return {_plain(key): _plain(one) for key, one in value.items()}
        return value
