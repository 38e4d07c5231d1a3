"""Expressions of a kernel: what is known at compile time is computed, everything else becomes ops."""

from __future__ import annotations

import ast
import builtins
import inspect
import operator
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from tessera_tools.api.interfaces import HasModule
from tessera_tools.diagnostics import DiagnosticError, Refusal, closest
from tessera_tools.dsl import library, ops, reductions
from tessera_tools.dsl.callables import (
    BIGGEST,
    DEVICE,
    IMPORTED,
    OUTPUT,
    PRINT,
    STATIC,
    check_arguments,
    check_text,
    computed,
    is_known,
    is_method_of_a_constant,
    is_ours,
    least_or_greatest,
    module_of,
    name_of,
    not_callable,
    only_in_sequences,
)
from tessera_tools.dsl.emitter import Emitter
from tessera_tools.dsl.source import Placed, Source, read_function
from tessera_tools.dsl.types import Dtype, dtypes
from tessera_tools.dsl.values import Runtime, Tile, as_tile, convert, describe, multiply
from tessera_tools.ir.location import CallSiteLoc, Location
from tessera_tools.ir.types import I1
from tessera_tools.records import dataclass, field

if TYPE_CHECKING:
    from tessera_tools.dsl.branches import Exit, Unrolled

__all__ = ["Closure", "Expressions", "Frame", "Missing"]

DEEPEST = 64
"""How deep calls of functions may be nested."""

_Unary: TypeAlias = Callable[[Any], object]
_Binary: TypeAlias = Callable[[Any, Any], object]
"""Operators of Python, which refuse their operands themselves."""
_BINARY: dict[type[ast.operator], tuple[str, _Binary]] = {
    ast.Add: ("+", operator.add), ast.Sub: ("-", operator.sub), ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv), ast.FloorDiv: ("//", operator.floordiv), ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow), ast.MatMult: ("@", operator.matmul), ast.BitAnd: ("&", operator.and_),
    ast.BitOr: ("|", operator.or_), ast.BitXor: ("^", operator.xor), ast.LShift: ("<<", operator.lshift),
    ast.RShift: (">>", operator.rshift),
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], tuple[str, _Unary]] = {
    ast.USub: ("-", operator.neg), ast.UAdd: ("+", operator.pos), ast.Invert: ("~", operator.invert),
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], _Binary] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip

_ITEM: _Binary = operator.getitem


@dataclass(frozen=True)
class Missing:
    """A variable that has no value here, and why."""

    reason: str


@dataclass
class Frame:
    """One call: its function, its variables, and where it is called."""

    source: Source
    caller: Location | None = None
    variables: dict[str, object] = field(default_factory=dict[str, object])
    is_kernel: bool = False
    exits: list[Exit | Unrolled] = field(default_factory=list)
    """The loops around the current statement."""
    branches: int = 0
    """How many branches are around the current statement whose conditions are known only when the kernel runs."""


@dataclass(frozen=True, eq=False)
class Closure:
    """A function that the kernel defines, or a lambda."""

    source: Source


class Expressions:
    """Evaluates expressions in the current frame."""

    emitter: Emitter
    frames: list[Frame]

    @property
    def frame(self) -> Frame:
        """The innermost call."""
        return self.frames[-1]

    @contextmanager
    def at(self, node: Placed) -> Iterator[None]:
        """Everything inside is at the place of `node`; what is refused there is an error there."""
        emitter, before = self.emitter, self.emitter.location
        place = self.frame.source.location(node)
        emitter.location = CallSiteLoc(place, self.frame.caller) if self.frame.caller is not None else place
        try:
            yield
        except DiagnosticError:
            raise
        except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError) as failure:
            # Refusals are ValueErrors, and so are types that the dialect refuses; what Python's own operators refuse
            # for values that are known at compile time is an error of the kernel, too.
            text = str(failure) if not isinstance(failure, KeyError) else f"there is no {failure}"
            raise emitter.error(text or type(failure).__name__) from failure
        finally:
            emitter.location = before

    def refuse(self, node: Placed, message: str, *notes: str) -> DiagnosticError:
        """An error at the place of `node`."""
        with self.at(node):
            return self.emitter.error(message, *notes)

    def evaluate(self, node: ast.expr) -> object:
        """The value of an expression."""
        handler = getattr(self, f"_{type(node).__name__.lower()}", None)
        if handler is None:
            raise self.refuse(node, f"{_noun(node)} are not supported in kernels")
        with self.at(node):
            return handler(node)

    # -- leaves

    def _constant(self, node: ast.Constant) -> object:
        if isinstance(node.value, bool | int | float | str | type(None)) or node.value is ...:
            return node.value
        raise Refusal(f"found {node.value!r}, expected a number or text")

    def _name(self, node: ast.Name) -> object:
        return self.lookup(node.id)

    def lookup(self, name: str) -> object:
        """The value of a variable. Raises Refusal."""
        frame = self.frame
        found = frame.variables.get(name, frame.source.names.get(name, _ABSENT))
        if isinstance(found, Missing):
            raise Refusal(f"'{name}' has no value here: {found.reason}")
        if found is _ABSENT:
            found = getattr(builtins, name, _ABSENT)
        if found is _ABSENT:
            known = [*frame.variables, *frame.source.names]
            near = closest(name, known)
            if near is None and name in _dsl_names():
                raise Refusal(f"unknown name '{name}'; import it: from tessera_tools.dsl import {name}")
            raise Refusal(f"unknown name '{name}'" + (f"; did you mean '{near}'?" if near else ""))
        return found

    def _tuple(self, node: ast.Tuple) -> tuple[object, ...]:
        return tuple(self._elements(node.elts))

    def _list(self, node: ast.List) -> list[object]:
        return self._elements(node.elts)

    def _elements(self, nodes: Sequence[ast.expr]) -> list[object]:
        found: list[object] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                found += self._sequence(node.value)
            else:
                found.append(self.evaluate(node))
        return found

    def _sequence(self, node: ast.expr) -> list[object]:
        value = self.evaluate(node)
        if not isinstance(value, tuple | list | range):
            raise self.refuse(node, f"found {describe(value)}, expected a tuple or a list")
        return list(value)

    def _dict(self, node: ast.Dict) -> dict[object, object]:
        if any(key is None for key in node.keys):
            raise Refusal("'**' is not supported in dictionaries")
        return {
            self.evaluate(key): self.evaluate(value)
            for key, value in zip(node.keys, node.values, strict=True)
            if key
        }

    def _slice(self, node: ast.Slice) -> slice:
        parts = (
            self.evaluate(part) if part is not None else None for part in (node.lower, node.upper, node.step)
        )
        return slice(*parts)

    def _joinedstr(self, node: ast.JoinedStr) -> str:
        text = ""
        for part in node.values:
            value = self.evaluate(part.value if isinstance(part, ast.FormattedValue) else part)
            check_text(value)
            if isinstance(part, ast.FormattedValue):
                convert = {"r": repr, "s": str, "a": ascii}.get(
                    chr(part.conversion) if part.conversion > 0 else ""
                )
                spec = (
                    self._joinedstr(part.format_spec) if isinstance(part.format_spec, ast.JoinedStr) else ""
                )
                value = format(convert(value) if convert is not None else value, spec)
            text += str(value)
        return text

    # -- operators

    def _binop(self, node: ast.BinOp) -> object:
        # acc + a @ b is one product.
        for product, other in ((node.right, node.left), (node.left, node.right)):
            if (
                isinstance(node.op, ast.Add)
                and isinstance(product, ast.BinOp)
                and isinstance(product.op, ast.MatMult)
            ):
                return self.add_product(product, self.evaluate(other))
        return self.operate(node.op, self.evaluate(node.left), self.evaluate(node.right))

    def add_product(self, product: ast.BinOp, acc: object) -> object:
        """`acc + a @ b`, in the product's accumulator if it has that type."""
        left, right = self.evaluate(product.left), self.evaluate(product.right)
        with self.at(product):
            if not isinstance(left, Tile) or not isinstance(right, Tile):
                return self.operate(ast.Add(), acc, self.operate(product.op, left, right))
            shape = (*left.shape[:-1], right.shape[-1])
            sums = isinstance(acc, Tile) and acc.shape == shape and (acc.is_float == left.is_float)
            if isinstance(acc, Tile) and sums and str(acc.element) in ("f32", "i32", "f64"):
                return multiply(left, right, acc)
            return self.operate(ast.Add(), acc, multiply(left, right))

    def operate(self, op: ast.operator, left: object, right: object) -> object:
        """The result of a binary operator of Python."""
        sign, compute = _BINARY[type(op)]
        if sign == "%" and isinstance(left, str):
            check_text(right)
        try:
            if not isinstance(left, Runtime) and not isinstance(right, Runtime):
                _check_size(sign, left, right)
            return compute(left, right)
        except TypeError:
            raise Refusal(f"'{sign}' of {describe(left)} and {describe(right)} is not supported") from None

    def _unaryop(self, node: ast.UnaryOp) -> object:
        is_not = isinstance(node.op, ast.Not)
        value = self.test(node.operand) if is_not else self.evaluate(node.operand)
        if is_not:
            return ~self.condition(node.operand, value) if isinstance(value, Tile) else not value
        sign, compute = _UNARY[type(node.op)]
        try:
            return compute(value)
        except TypeError:
            raise Refusal(f"'{sign}' of {describe(value)} is not supported") from None

    def _compare(self, node: ast.Compare) -> object:
        left, result = self.evaluate(node.left), True
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(right_node)
            identity = (
                isinstance(op, ast.In | ast.NotIn | ast.Is | ast.IsNot)
                and left is not None
                and right is not None
            )
            if identity and (isinstance(left, Runtime) or isinstance(right, Runtime)):
                raise Refusal(f"'{ast.unparse(node)}' is not known when the kernel is compiled")
            try:
                one = _COMPARE[type(op)](left, right)
            except TypeError:
                raise Refusal(
                    f"found {describe(left)} and {describe(right)}, which cannot be compared"
                ) from None
            result = (
                one
                if result is True
                else _BINARY[ast.BitAnd][1](one, result)
                if isinstance(one, Tile)
                else (result if one else False)
            )
            left = right
        return result

    def test(self, node: ast.expr) -> object:
        """The value of an expression of which only the truth counts, such as the condition of an `if`."""
        if not isinstance(node, ast.BoolOp):
            return self.evaluate(node)
        with self.at(node):
            return self._boolop(node, is_test=True)

    def _boolop(self, node: ast.BoolOp, *, is_test: bool = False) -> object:
        """`and` and `or`. In Python they are one of their operands; only for conditions is that a condition."""
        is_and = isinstance(node.op, ast.And)
        result: object = is_and
        for part in node.values:
            value = self.test(part) if is_test else self.evaluate(part)
            is_condition = isinstance(value, bool) or (isinstance(value, Tile) and value.element is I1)
            if (
                not is_test
                and not is_condition
                and isinstance(value if isinstance(value, Tile) else result, Tile)
            ):
                word = "and" if is_and else "or"
                raise self.refuse(
                    part,
                    f"found {describe(value)} as an operand of '{word}', whose value is used; expected a condition",
                    "compare it, as in n != 0, or write a if condition else b to choose a value",
                )  # fmt: skip
            if not isinstance(value, Runtime):
                if bool(value) is not is_and:
                    return value
                if not isinstance(result, Tile):
                    result = value
                continue
            one = self.condition(part, value)
            result = one if not isinstance(result, Tile) else (result & one if is_and else result | one)
        return result

    def condition(self, node: ast.expr, value: object) -> Tile:
        """A condition that is known when the kernel runs: a scalar of i1; an integer is true unless it is zero."""
        if not isinstance(value, Tile) or value.shape:
            raise self.refuse(
                node,
                f"found {describe(value)} as a condition, expected a number; conditions of tiles are for where(), "
                "and '&', '|', '~' combine them",
            )
        return value if value.element is I1 else value != 0

    def _ifexp(self, node: ast.IfExp) -> object:
        test = self.test(node.test)
        if not isinstance(test, Runtime):
            return self.evaluate(node.body if test else node.orelse)
        return self.choose(node, self.condition(node.test, test))

    def choose(self, node: ast.IfExp, condition: Tile) -> object:
        """The value of `a if condition else b`; see `Branches`."""
        raise NotImplementedError

    def body(self, statements: Sequence[ast.stmt]) -> object:
        """The value of an inlined function's body; see `Interpreter`."""
        raise NotImplementedError

    def statements(self, statements: Sequence[ast.stmt]) -> bool:
        """Compile statements; True if the last one leaves the block. See `Interpreter`."""
        raise NotImplementedError

    def bind(self, target: ast.expr, value: object) -> None:
        """Assign a value; see `Interpreter`."""
        raise NotImplementedError

    # -- parts and calls

    def _attribute(self, node: ast.Attribute) -> object:
        value = self.evaluate(node.value)
        if node.attr.startswith("_"):
            raise Refusal(f"the private attribute '{node.attr}' cannot be used in kernels")
        known = _public(value)
        if known is not None and node.attr not in known:
            raise Refusal(
                f"{describe(value)} has no attribute '{node.attr}'; expected one of {', '.join(known)}"
            )
        return getattr(value, node.attr)

    def _subscript(self, node: ast.Subscript) -> object:
        value, index = self.evaluate(node.value), self.evaluate(node.slice)
        if isinstance(index, Runtime) and not isinstance(value, Runtime):
            raise Refusal(
                f"found {describe(index)} as an index, expected a number that is known at compile time"
            )
        try:
            if isinstance(value, Runtime) and not isinstance(value, Tile):
                raise Refusal(f"a {value} has no parts by index; expected a tile")
            return _ITEM(value, index)
        except TypeError as failure:
            raise Refusal(str(failure)) from None

    def _lambda(self, node: ast.Lambda) -> Closure:
        return Closure(self.frame.source.inner(node, self._visible()))

    def _visible(self) -> Mapping[str, object]:
        """What a function that is defined here sees: the names around it, and the variables as they are now."""
        return {**self.frame.source.names, **self.frame.variables}

    def _call(self, node: ast.Call) -> object:
        function = self.evaluate(node.func)
        if isinstance(node.func, ast.Name):
            function = next((python for ours, python in IMPORTED if function is ours), function)
        args = self._elements(node.args)
        keywords: dict[str, object] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise Refusal("'**' is not supported in calls")
            keywords[keyword.arg] = self.evaluate(keyword.value)
        with self.at(node):
            return self.call(function, args, keywords)

    def call(
        self, function: object, args: Sequence[object], keywords: Mapping[str, object] | None = None
    ) -> object:
        """Call a function of the DSL, of the kernel's source, or one that is computed at compile time."""
        keywords = keywords or {}
        values = [*args, *keywords.values()]
        at_run_time = any(isinstance(v, Runtime) for v in values)
        if isinstance(function, Closure):
            return self._inline(function.source, args, keywords)
        if isinstance(function, Dtype):
            if len(args) != 1 or keywords:
                raise Refusal(f"{function}() takes one tile or number")
            return convert(as_tile(args[0], function.ir), function.ir)
        if not callable(function):
            raise not_callable(function)
        run: Callable[..., object] = function
        if function in (min, max) and at_run_time:
            return least_or_greatest(run, args, keywords)
        if function in (int, float) and at_run_time and isinstance(args[0], Tile):
            name = "i32" if function is int else "f32"
            raise Refusal(f"a {args[0]} is converted by .to({name})")
        if function is print or function is PRINT:
            run = OUTPUT
        elif function in DEVICE and at_run_time:
            run = DEVICE[function]
        elif is_known(function, STATIC) or is_method_of_a_constant(function):
            if at_run_time and function is not isinstance and not only_in_sequences(args):
                raise Refusal(
                    f"{name_of(function)}() of {describe(args[0])} is not known when the kernel is compiled"
                )
            return computed(run, args, keywords)
        if is_ours(run):
            check_arguments(run, args, keywords)
            return run(*args, **keywords)
        if isinstance(function, types.FunctionType):
            return self._inline(read_function(function), args, keywords)
        if module_of(function) == "math":
            if not at_run_time:
                return run(*args, **keywords)
            name = name_of(function)
            raise Refusal(f"math.{name}() of a tile; use {name}() of tessera_tools.dsl")
        if isinstance(function, HasModule):
            raise Refusal(f"'{name_of(function)}' is a kernel; a kernel calls only functions without @kernel")
        raise not_callable(function)

    def _inline(self, source: Source, args: Sequence[object], keywords: Mapping[str, object]) -> object:
        """Compile the body of a function in place of its call."""
        if len(self.frames) > DEEPEST:
            raise Refusal(f"calls are nested more than {DEEPEST} deep; recursion is not supported")
        frame = Frame(source, self.emitter.location, dict(self._bound(source, args, keywords)))
        self.frames.append(frame)
        try:
            if isinstance(source.node, ast.Lambda):
                return self.evaluate(source.node.body)
            return self.body(source.node.body)
        finally:
            self.frames.pop()

    def _bound(
        self, source: Source, args: Sequence[object], keywords: Mapping[str, object]
    ) -> Mapping[str, object]:
        """The arguments of a call by the name of the parameter."""
        parameters, kinds = source.node.args, inspect.Parameter
        if parameters.vararg or parameters.kwarg:
            raise Refusal(f"'{source.name}' has '*' or '**' parameters, which are not supported")
        names = [(a.arg, kinds.POSITIONAL_OR_KEYWORD) for a in (*parameters.posonlyargs, *parameters.args)]
        defaults: dict[str, ast.expr] = dict(
            zip(
                [name for name, _ in names][len(names) - len(parameters.defaults) :],
                parameters.defaults,
                strict=True,
            )
        )
        names += [(a.arg, kinds.KEYWORD_ONLY) for a in parameters.kwonlyargs]
        defaults |= {
            a.arg: d for a, d in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True) if d
        }
        signature = inspect.Signature(
            [kinds(n, kind, default=defaults.get(n, kinds.empty)) for n, kind in names],
            __validate_parameters__=False,
        )
        try:
            bound = signature.bind(*args, **keywords)
        except TypeError as failure:
            raise Refusal(f"{source.name}(): {failure}") from None
        missing = {n: d for n, d in defaults.items() if n not in bound.arguments}
        if missing:
            self.frames.append(Frame(source))
            try:
                bound.arguments |= {n: self.evaluate(d) for n, d in missing.items()}
            finally:
                self.frames.pop()
        return bound.arguments


_ABSENT = object()


def _check_size(sign: str, left: object, right: object) -> None:
    """Refuse computations whose results are huge."""
    if sign in ("**", "<<") and isinstance(right, int) and isinstance(left, int) and abs(right) > 1024:
        raise Refusal(f"'{sign}' of {left!r} and {right!r} is too large")
    if sign == "*" and any(isinstance(v, str | tuple | list) for v in (left, right)):
        count = left if isinstance(left, int) else right
        if isinstance(count, int) and count > BIGGEST:
            raise Refusal(f"{count} repetitions are too many")


def _noun(node: ast.AST) -> str:
    words: dict[type[ast.AST], str] = {
        ast.ListComp: "list comprehensions", ast.GeneratorExp: "generators", ast.DictComp: "comprehensions",
        ast.SetComp: "comprehensions", ast.Await: "'await' expressions", ast.Yield: "'yield' expressions",
        ast.YieldFrom: "'yield' expressions", ast.Set: "sets", ast.Starred: "'*' expressions",
    }  # fmt: skip
    return words.get(type(node), f"expressions of the kind {type(node).__name__}")


def _public(value: object) -> list[str] | None:
    """The attributes of a value of the DSL that kernels may use; None for other objects."""
    if not isinstance(value, Runtime | library.Array):
        return None
    own = vars(value) if isinstance(value, library.Array) else ()
    found = {*dir(type(value)), *own} - {"ir", "origin"}
    return sorted(name for name in found if not name.startswith("_"))


def _dsl_names() -> Sequence[str]:
    return [*library.__all__, *reductions.__all__, *ops.names(), *dtypes, "ptr", "tile"]
