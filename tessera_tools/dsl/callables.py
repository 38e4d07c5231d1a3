"""The functions that a kernel calls: those of Python, computed when it is compiled, and those of the DSL."""

from __future__ import annotations

import inspect
import math
import operator
import types
from collections.abc import Callable, Container, Mapping, Sequence

from tessera_tools.diagnostics import Refusal
from tessera_tools.dsl import library, reductions
from tessera_tools.dsl.types import Dtype
from tessera_tools.dsl.values import Runtime, Tile, describe

__all__ = [
    "BIGGEST",
    "DEVICE",
    "IMPORTED",
    "OUTPUT",
    "PRINT",
    "STATIC",
    "check_arguments",
    "check_text",
    "computed",
    "is_known",
    "is_method_of_a_constant",
    "is_ours",
    "least_or_greatest",
    "module_of",
    "name_of",
    "not_callable",
    "only_in_sequences",
]

STATIC = {
    len,
    min,
    max,
    abs,
    int,
    float,
    bool,
    sum,
    round,
    divmod,
    tuple,
    list,
    range,
    isinstance,
    str,
    math.prod,
}
"""Functions of Python that are computed when the kernel is compiled."""
DEVICE: dict[object, Callable[..., object]] = {
    abs: library.absolute, sum: reductions.total, pow: operator.pow, range: library.range,
}  # fmt: skip
"""Functions of Python that are functions of the DSL where an argument is known only when the kernel runs."""
OUTPUT: Callable[..., object] = library.output
PRINT = print
"""Python's; packages replace the one in `builtins`, as Ray does."""
BIGGEST = 1 << 16
"""How many numbers or repetitions are computed when a kernel is compiled."""
IMPORTED = (
    (reductions.amax, max), (reductions.amin, min), (reductions.total, sum), (library.absolute, abs),
    (library.output, print),
)  # fmt: skip
"""What `from tessera_tools.dsl import max` imports, and the function of Python that a kernel means by the name `max`.
`tl.max(x, 1)` is the reduction along axis 1."""


def is_known(function: object, known: Container[object]) -> bool:
    """Whether a value, which may have no hash, is one of some functions."""
    try:
        return function in known
    except TypeError:
        return False


def name_of(function: object) -> str:
    """The name of what is called, for messages."""
    return getattr(function, "__name__", None) or describe(function)


def module_of(function: object) -> str:
    """The name of the module that defines a function; empty if that is not known."""
    return getattr(function, "__module__", None) or ""


def not_callable(function: object) -> Refusal:
    """What is raised for a call of anything else."""
    return Refusal(
        f"'{name_of(function)}' cannot be called in a kernel; expected a function of tessera_tools.dsl or of "
        "Python source"
    )


def is_ours(function: object) -> bool:
    """Whether it is a function of the DSL, or a method of its values."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, Runtime | library.Array | Dtype):
        return True
    module = module_of(function)
    return module == "tessera_tools.dsl" or module.startswith("tessera_tools.dsl.")


def is_method_of_a_constant(function: object) -> bool:
    """Whether it is a method of a Python number, such as `n.bit_length`; those of NumPy's numbers may write files."""
    return isinstance(function, types.BuiltinMethodType) and type(function.__self__) in (bool, int, float)


def check_arguments(
    function: Callable[..., object], args: Sequence[object], keywords: Mapping[str, object]
) -> None:
    """Raises Refusal if a function does not take the arguments."""
    try:
        inspect.signature(function).bind(*args, **keywords)
    except TypeError as failure:
        if module_of(function) == "tessera_tools.dsl" and "too many positional" in str(failure):
            return  # an op, whose result type may be the last argument
        name = name_of(function)
        raise Refusal(f"{name}(): {failure}; expected {name}{inspect.signature(function)}") from None


def computed(
    function: Callable[..., object], args: Sequence[object], keywords: Mapping[str, object]
) -> object:
    """The result of a function of Python. Raises Refusal for a range that is too long, or text that is not known."""
    if function is str:
        check_text(args)
    found = function(*args, **keywords)
    if isinstance(found, range) and len(found) > BIGGEST:
        raise Refusal(f"{len(found)} numbers are too many at compile time")
    return found


def check_text(value: object) -> None:
    """Raises Refusal if the text of a value needs one that is known only when the kernel runs."""
    if isinstance(value, Runtime):
        raise Refusal(f"{describe(value)} is not known when the kernel is compiled; print it with a format")
    if isinstance(value, dict):
        check_text((*value, *value.values()))
    elif isinstance(value, tuple | list):
        for part in value:
            check_text(part)


def only_in_sequences(args: Sequence[object]) -> bool:
    """Whether no argument itself is known only when the kernel runs."""
    return not any(isinstance(arg, Runtime) for arg in args)


def least_or_greatest(
    function: Callable[..., object], args: Sequence[object], keywords: Mapping[str, object]
) -> object:
    """`max(a, b, …)` elementwise, or `max(x, axis=1)` of one tile."""
    if len(args) == 1 or "axis" in keywords:
        one: Callable[..., Tile] = reductions.amax if function is max else reductions.amin
        check_arguments(one, args, keywords)
        return one(*args, **keywords)
    if keywords:
        raise Refusal(f"{name_of(function)}() of several values takes no keywords")
    two: Callable[..., Tile] = library.maximum if function is max else library.minimum
    result = args[0]
    for value in args[1:]:
        result = two(result, value)
    return result
