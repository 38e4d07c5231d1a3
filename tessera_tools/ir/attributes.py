"""Attributes and types: immutable, interned values.  Equal ones are the same object.

A class declares its parameters as annotations; calling it with equal parameters returns the same object:

    class RangeAttr(Attribute, name="demo.range"):
        low: int
        high: int | None = None

        def verify(self) -> None:
            if self.high is not None and self.low > self.high:
                raise ValueError("range is empty")

Parameters must be hashable.  `verify` runs once, when an object is created, and raises ValueError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import TypeVar

    from tessera_tools.ir.effect_words import Resource
    from tessera_tools.ir.scanner import Scanner

    AttributeT_co = TypeVar("AttributeT_co", bound="Attribute", covariant=True, default="Attribute")
    """The class of an attribute: of one that an op declares, or of the elements of an array."""
    TypeT_co = TypeVar("TypeT_co", bound="Type", covariant=True, default="Type")
    """The class of a type: of a value's, or of one that an attribute holds."""
else:  # defaults of type variables need Python 3.13
    from typing import TypeVar

    AttributeT_co, TypeT_co = TypeVar("AttributeT_co", covariant=True), TypeVar("TypeT_co", covariant=True)

_MISSING = object()

ALIAS_WORDS: dict[str, str] = {}
"""The attributes that are printed as aliases where a whole unit is printed, by name → the word of their aliases."""


@dataclass_transform(frozen_default=True, eq_default=False)
class AttributeMeta(type):
    """Turns annotations into slots and interns instances by their parameters."""

    _fields: tuple[str, ...]
    _defaults: dict[str, Any]
    _instances: dict[Any, Any]

    def __new__(
        mcs, cls_name: str, bases: tuple[type, ...], namespace: dict[str, Any], name: str | None = None
    ):
        own = [
            f
            for f, text in namespace.get("__annotations__", {}).items()
            if not str(text).startswith("ClassVar")
        ]
        inherited: tuple[str, ...] = ()
        defaults: dict[str, Any] = {}
        for base in bases:
            if isinstance(base, AttributeMeta):
                inherited += base._fields
                defaults.update(base._defaults)
        for field in own:
            if field in namespace:
                defaults[field] = namespace.pop(field)
        namespace["__slots__"] = (*own, *namespace.get("__slots__", ()))
        cls = super().__new__(mcs, cls_name, bases, namespace)
        cls._fields = (*inherited, *own)
        cls._defaults = defaults
        cls._instances = {}
        if name is not None:
            cls.name = name  # type: ignore[attr-defined]
        if namespace.get("alias_word"):
            ALIAS_WORDS[name or ""] = namespace["alias_word"]
        return cls

    def __init__(
        cls, cls_name: str, bases: tuple[type, ...], namespace: dict[str, Any], name: str | None = None
    ):
        super().__init__(cls_name, bases, namespace)

    # To a type checker, a class is called as `dataclass_transform` says.
    if not TYPE_CHECKING:

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            if kwargs or len(args) != len(cls._fields):
                args = cls._complete(args, kwargs)
            # 1, True and 1.0 are equal keys in Python but different parameters here.
            key = (args, tuple(map(type, args)))
            found = cls._instances.get(key)
            if found is not None:
                return found
            made: Any = object.__new__(cls)
            for field, value in zip(cls._fields, args, strict=True):
                object.__setattr__(made, field, value)
            made.verify()
            cls._instances[key] = made
            return made

    def _complete(cls, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Positional parameters in declaration order, with keywords and defaults filled in."""
        if len(args) > len(cls._fields):
            raise TypeError(f"{cls.__name__} takes {len(cls._fields)} parameters, got {len(args)}")
        values = list(args)
        for field in cls._fields[len(args) :]:
            value = kwargs.pop(field, _MISSING)
            if value is _MISSING:
                value = cls._defaults.get(field, _MISSING)
            if value is _MISSING:
                raise TypeError(f"{cls.__name__} needs parameter '{field}'")
            values.append(value)
        if kwargs:
            raise TypeError(f"{cls.__name__} has no parameter '{next(iter(kwargs))}'")
        return tuple(values)


class Attribute(metaclass=AttributeMeta):
    """The base of attributes and types.  `str(attr)` is its MLIR text."""

    name: ClassVar[str] = ""
    sigil: ClassVar[str] = "#"
    alias_word: ClassVar[str] = ""
    """`layout`: printed as `#layout`, `#layout1`, …, defined before the unit. The text must be `#name<{…}>`."""
    _fields: ClassVar[tuple[str, ...]]

    def verify(self) -> None:
        """Raise ValueError if the parameters are inconsistent."""

    def verify_encoding(self, shape: tuple[int, ...], element: Any) -> None:
        """Raise ValueError if the attribute cannot be the encoding of a tensor of that shape and element type."""

    def verify_layout(self, rank: int) -> None:
        """Raise ValueError if the attribute cannot be the layout of a memref of that rank."""

    @property
    def memory_space_number(self) -> int | None:
        """The number of the memory that the attribute names as a memory space; None if it names none by number."""
        return None

    def memory_space_text(self) -> str:
        """How the attribute is written as a memory space."""
        return self.text()

    def parameters(self) -> tuple[Any, ...]:
        """The parameters in declaration order."""
        return tuple(getattr(self, field) for field in type(self)._fields)

    def __setattr__(self, key: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __copy__(self) -> Attribute:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Attribute:
        return self

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return (type(self), self.parameters())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.parameters()))})"

    @classmethod
    def parse(cls, s: Scanner, /) -> Attribute:
        """Reads the parameters from the parser's scanner, after the name; there are none by default."""
        return cls()

    def text(self) -> str:
        """How the attribute is written in MLIR text, sigil included; by default its name."""
        assert not self._fields, f"{type(self).__name__} declares no text"
        return f"{self.sigil}{self.name}"

    def __str__(self) -> str:
        return self.text()


class HasAliasedParts(Attribute):
    """An attribute that is printed with names of the attributes inside, such as a scope of debug information."""

    alias: ClassVar[str]
    """The word of its own alias."""

    def alias_parts(self) -> tuple[Attribute, ...]:
        """The attributes inside that are printed through aliases."""
        raise NotImplementedError

    def alias_text(self, name: Callable[[Attribute], str]) -> str:
        """The text with names for the parts."""
        raise NotImplementedError


class Type(Attribute):
    """The base of types."""

    sigil = "!"

    @property
    def resource(self) -> Resource | None:
        """The kind of memory that a value of the type refers to; None if it does not refer to memory."""
        return None
