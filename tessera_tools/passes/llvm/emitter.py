"""Building llvm-dialect code for one kernel: sharing and hoisting of pure operations, control-flow scopes, thread ids.

Integer arguments may be Python ints: arithmetic on constants is folded, and a constant becomes an op only if an
instruction needs it.  A pure operation is emitted at the outermost scope in which its operands are available (before
the loop that contains it, if they are invariant), and once per scope: addresses are shared and hoisted by
construction, not by later passes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from tessera_tools.dialects import llvm
from tessera_tools.dialects.arith.attributes import CMPI_PREDICATES
from tessera_tools.dialects.llvm.syntax import DYNAMIC_INDEX
from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.dialects.nvvm.attributes import ShflKindAttr
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import (
    DenseArrayAttr,
    FloatAttr,
    IntegerAttr,
    SymbolRefAttr,
    TypeAttr,
    i64,
    wrap_int,
)
from tessera_tools.ir.core import Block, Operation, OpT, Region, Value
from tessera_tools.ir.location import UNKNOWN, Location
from tessera_tools.ir.types import I1, I8, I32, I64, FloatType, IntegerType, VectorType, bit_width
from tessera_tools.layout import XorExpression
from tessera_tools.opdef import Op
from tessera_tools.opdef.dialect import find_op
from tessera_tools.target import ExecutionUnit

Int = int | Value
"""A constant integer, or a value."""

GLOBAL_POINTER = PointerType(1)
SHARED_POINTER = PointerType(3)


class _Scope:
    """A region of code that dominates everything emitted while it is open.  `exit` is the terminator to an inner scope:
    operations hoisted from the inner scope are inserted before it."""

    __slots__ = ("exit", "table")

    def __init__(self) -> None:
        self.table: dict[Hashable, Value] = {}
        self.exit: Operation | None = None


class Emitter:
    """Emits into `region`, whose entry block holds the function's arguments."""

    def __init__(self, region: Region, location: Location, unit: ExecutionUnit) -> None:
        self.region = region
        self.unit = unit
        """The execution unit of the code: it determines thread ids and barriers."""
        self.floor = 0
        """The outermost scope in which the unit may place an operation."""
        self.block: Block = region.blocks[0]
        self.location = location
        self.scopes = [_Scope()]
        self.depth: dict[Value, int] = {}
        self._last_constant: Operation | None = None

    # -- placing operations

    def emit(self, op: OpT) -> OpT:
        """Append an operation at the current point."""
        if op.location is UNKNOWN:
            op.location = self.location
        self.block.append(op)
        depth = len(self.scopes) - 1
        if depth:
            for result in op.results:
                self.depth[result] = depth
        return op

    def pure(self, key: Hashable, operands: Sequence[Value], make: Callable[[], Operation]) -> Value:
        """A pure operation, shared: `make()` builds it unless an equal one (by `key` and operands) is in scope."""
        depths = self.depth
        depth = self.floor
        for value in operands:
            depth = max(depth, depths.get(value, 0))
        scope = self.scopes[depth]
        full_key = (key, *operands)
        found = scope.table.get(full_key)
        if found is not None:
            return found
        op = make()
        if op.location is UNKNOWN:
            op.location = self.location
        if scope.exit is None:
            self.block.append(op)
        else:
            assert scope.exit.parent is not None
            scope.exit.parent.insert_before(scope.exit, op)
        result = op.results[0]
        if depth:
            depths[result] = depth
        scope.table[full_key] = result
        return result

    def open(self, branch: Operation) -> None:
        """Enter the scope of a successor of `branch`."""
        self.scopes[-1].exit = branch
        self.scopes.append(_Scope())

    def close(self) -> None:
        """Leave the scope; the enclosing scope continues at the current block."""
        self.scopes.pop()
        self.scopes[-1].exit = None

    @contextmanager
    def agent(self, unit: ExecutionUnit) -> Iterator[None]:
        """Emit for another unit from here on: its operations are not hoisted out of the current scope."""
        before = self.unit, self.floor
        self.unit, self.floor = unit, self.current_depth
        yield
        self.unit, self.floor = before

    @property
    def is_agent(self) -> bool:
        """Whether the code is that of an agent."""
        return self.floor > 0

    def at_depth(self, value: Value, depth: int) -> None:
        """Set the scope of a value (block arguments, loop results)."""
        self.depth[value] = depth

    @property
    def current_depth(self) -> int:
        return len(self.scopes) - 1

    def new_block(self, types: Sequence[Type] = ()) -> Block:
        """A block at the end of the function, in the current scope."""
        block = self.region.append(Block(types, [self.location] * len(types)))
        for argument in block.arguments:
            self.at_depth(argument, self.current_depth)
        return block

    # -- constants

    def constant(self, value: Int | float, type: Type = I32) -> Value:
        """A constant of a type; values pass through."""
        if isinstance(value, Value):
            return value
        if isinstance(type, FloatType):
            attribute: Attribute = FloatAttr.of(float(value), type)
        else:
            attribute = IntegerAttr(wrap_int(int(value), type), type)
        return self.constant_of(attribute, type)

    def constant_of(self, attribute: Attribute, type: Type) -> Value:
        """A constant of an attribute, at the function's entry."""
        table = self.scopes[0].table
        key = ("constant", attribute, type)
        found = table.get(key)
        if found is None:
            op = llvm.Constant(attribute, res=type, location=self.location)
            entry = self.region.blocks[0]
            place = entry.first_op if self._last_constant is None else self._last_constant.next_op
            entry.insert_before(place, op)
            self._last_constant = op
            found = table[key] = op.results[0]
        return found

    # -- integer arithmetic

    def _binary(self, cls: type[Op], a: Int, b: Int, type: Type) -> Value:
        left, right = self.constant(a, type), self.constant(b, type)
        return self.pure(cls, (left, right), lambda: cls(left, right))

    def add(self, a: Int, b: Int, type: Type = I32) -> Int:
        """a + b."""
        if isinstance(a, int):
            a, b = b, a
        if isinstance(b, int):
            if isinstance(a, int):
                return wrap_int(a + b, type)
            if b == 0:
                return a
        return self._binary(llvm.Add, a, b, type)

    def sub(self, a: Value, b: Value, type: Type = I32) -> Value:
        """a - b."""
        return self._binary(llvm.Sub, a, b, type)

    def mul(self, a: Int, b: Int, type: Type = I32) -> Int:
        """a · b."""
        if isinstance(a, int):
            a, b = b, a
        if isinstance(b, int):
            if isinstance(a, int):
                return wrap_int(a * b, type)
            if b in (0, 1):
                return a if b else 0
            if b > 0 and b & (b - 1) == 0:
                return self.shl(a, b.bit_length() - 1, type)
        return self._binary(llvm.Mul, a, b, type)

    def and_(self, a: Int, b: Int, type: Type = I32) -> Int:
        """a & b."""
        if isinstance(a, int):
            a, b = b, a
        if isinstance(b, int):
            if isinstance(a, int):
                return a & b
            if b == 0:
                return 0
        return self._binary(llvm.And, a, b, type)

    def or_(self, a: Int, b: Int, type: Type = I32) -> Int:
        """a | b."""
        if isinstance(a, int):
            a, b = b, a
        if isinstance(b, int):
            if isinstance(a, int):
                return a | b
            if b == 0:
                return a
        return self._binary(llvm.Or, a, b, type)

    def xor(self, a: Int, b: Int, type: Type = I32) -> Int:
        """a ^ b."""
        if isinstance(a, int):
            a, b = b, a
        if isinstance(b, int):
            if isinstance(a, int):
                return a ^ b
            if b == 0:
                return a
        return self._binary(llvm.XOr, a, b, type)

    def shl(self, a: Int, bits: Int, type: Type = I32) -> Int:
        """a << bits; `bits` is of the same type."""
        if isinstance(bits, int):
            if isinstance(a, int):
                return wrap_int(a << bits, type)
            if bits == 0:
                return a
        return self._binary(llvm.Shl, a, bits, type)

    def lshr(self, a: Int, bits: Int, type: Type = I32) -> Int:
        """a >> bits, unsigned; `bits` is of the same type."""
        if isinstance(bits, int):
            if isinstance(a, int):
                return (a & ((1 << bit_width(type)) - 1)) >> bits
            if bits == 0:
                return a
        return self._binary(llvm.LShr, a, bits, type)

    def ashr(self, a: Int, bits: int, type: Type = I32) -> Value:
        """a >> bits, signed."""
        return self._binary(llvm.AShr, a, bits, type)

    def zext(self, a: Int, type: IntegerType = I64) -> Int:
        """a in a wider type, unsigned."""
        return a if isinstance(a, int) else self.resized(a, type)

    def icmp(self, predicate: str, a: Int, b: Int, type: Type = I32) -> Value:
        """The comparison as an i1."""
        left, right = self.constant(a, type), self.constant(b, type)
        code = IntegerAttr(CMPI_PREDICATES.index(predicate), I64)
        return self.pure(("icmp", predicate), (left, right), lambda: llvm.ICmp(code, left, right, res=I1))

    def both(self, conditions: Sequence[Value | None]) -> Value | None:
        """The conjunction of conditions; None means true."""
        result: Value | None = None
        # Outer conditions first, so that their conjunction is hoisted.
        for condition in sorted((c for c in conditions if c is not None), key=lambda c: self.depth.get(c, 0)):
            if result is None or result is condition:
                result = condition
            else:
                left, right = result, condition
                result = self.pure(
                    "and1", (left, right), lambda left=left, right=right: llvm.And(left, right)
                )
        return result

    def select(self, condition: Value | None, a: Int, b: Int, type: Type = I32) -> Int:
        """a if the condition is true, otherwise b; a if the condition is None."""
        if condition is None:
            return a
        left, right = self.constant(a, type), self.constant(b, type)
        return self.pure(
            "select", (condition, left, right), lambda: llvm.Select(condition, left, right, res=type)
        )

    def either(self, condition: Value, a: Value, b: Value) -> Value:
        """a if the condition holds, else b, of any type."""
        if a is b:
            return a
        return self.pure(
            ("select", a.type), (condition, a, b), lambda: llvm.Select(condition, a, b, res=a.type)
        )

    # -- pointers

    def gep(self, base: Value, offset: Int, *, shared: bool = True) -> Value:
        """base + offset bytes; a constant offset that is not `shared` is not shared, so that it becomes an immediate of
        the access."""
        if isinstance(offset, int) and not -(1 << 31) <= offset < 1 << 31:
            offset = self.constant(offset, I64)
        if isinstance(offset, int):
            if offset == 0:
                return base
            indices = DenseArrayAttr(I32, (offset,))

            def make_constant() -> Operation:
                return llvm.GEP(base, [], indices, TypeAttr(I8), res=base.type)

            if not shared:
                return self.emit(make_constant()).results[0]
            return self.pure(("gep", offset), (base,), make_constant)
        indices = DenseArrayAttr(I32, (DYNAMIC_INDEX,))
        return self.pure(
            "gep", (base, offset), lambda: llvm.GEP(base, [offset], indices, TypeAttr(I8), res=base.type)
        )

    def address_of(self, symbol: str, type: PointerType = SHARED_POINTER) -> Value:
        """The address of a variable of the module, in shared memory unless `type` says otherwise."""
        return self.pure(("addressof", symbol), (), lambda: llvm.AddressOf(SymbolRefAttr(symbol), res=type))

    def stack(self, size: int) -> Value:
        """`size` bytes of local memory, aligned to 8, allocated at the function's entry."""
        count = self.constant(size)
        entry = self.region.blocks[0]
        assert self._last_constant is not None
        op = llvm.Alloca(count, i64(8), TypeAttr(I8), res=PointerType(0), location=self.location)
        entry.insert_before(self._last_constant.next_op, op)
        return op.results[0]

    def no_bit_set(self, masks: Mapping[str, int]) -> Value | None:
        """True if this thread has none of the bits in its `lane` and `warp`; None if the masks are empty."""
        conditions: list[Value | None] = []
        if masks.get("lane"):
            conditions.append(self.icmp("eq", self.and_(self.lane, masks["lane"]), 0))
        if masks.get("warp"):
            conditions.append(self.icmp("eq", self.and_(self.warp, masks["warp"]), 0))
        return self.both(conditions)

    # -- hardware

    def nvvm(
        self,
        name: str,
        operands: Sequence[Value] = (),
        results: Sequence[Type] = (),
        /,
        **attributes: Attribute,
    ) -> Operation:
        """Append an nvvm operation."""
        return self.emit(self.make_nvvm(name, operands, results, attributes))

    @staticmethod
    def make_nvvm(
        name: str, operands: Sequence[Value], results: Sequence[Type], attributes: dict[str, Attribute]
    ) -> Operation:
        op_class = find_op(f"nvvm.{name}")
        if op_class is None:
            raise ValueError(f"'nvvm.{name}' is not an op of the nvvm dialect")
        defaults = {f.key: f.default for f in op_class.definition.attributes}
        kept = {k: v for k, v in attributes.items() if defaults.get(k) is not v}
        return op_class.create(operands, results, kept)

    def special_register(self, name: str) -> Value:
        """A special register as an i32: `tid.x`, `ctaid.y`, …"""
        return self.pure(("sreg", name), (), lambda: self.make_nvvm(f"read.ptx.sreg.{name}", (), (I32,), {}))

    def barrier(self) -> None:
        """Wait for all threads of the unit (PTX ISA, "bar.sync"; "bar.warp.sync" for a single warp)."""
        unit = self.unit
        if unit.is_whole:
            self.nvvm("barrier0")
        elif unit.warps == 1:
            self.nvvm("bar.warp.sync", [self.constant(-1)])
        else:
            counts = [self.constant(unit.barrier), self.constant(unit.threads)]
            self.nvvm("barrier", counts, operandSegmentSizes=DenseArrayAttr(I32, (1, 1, 0)))

    @property
    def is_first_thread(self) -> Value:
        """True if this thread is the first of its unit."""
        return self.icmp("eq", self.special_register("tid.x"), 32 * self.unit.first_warp)

    @property
    def thread(self) -> Int:
        """This thread's number in its unit."""
        return self.add(self.special_register("tid.x"), -32 * self.unit.first_warp)

    @property
    def lane(self) -> Int:
        """This thread's lane in its warp."""
        return self.and_(self.special_register("tid.x"), 31)

    @property
    def warp(self) -> Int:
        """This thread's warp in its unit."""
        return self.lshr(self.thread, 5)

    @property
    def uniform_warp(self) -> Value:
        """As `warp`, known to be uniform in the warp: shfl.sync from lane 0."""
        warp = self.constant(self.warp)
        operands = (self.constant(-1), warp, self.constant(0), self.constant(31))
        kind: dict[str, Attribute] = {"kind": ShflKindAttr("idx")}
        return self.pure(
            "uniform warp", operands, lambda: self.make_nvvm("shfl.sync", operands, (I32,), kind)
        )

    @property
    def is_elected(self) -> Value:
        """True if this thread is the one that its warp elects; all lanes take part (PTX ISA, "elect.sync")."""
        return self.nvvm("elect.sync", (), (I1,)).results[0]

    def parts(self, expression: XorExpression, constant: int, scale: int = 1) -> tuple[Int, int]:
        """(what the thread computes, an immediate): their sum is the expression for a register's constant, times
        `scale` (a power of two)."""
        crossing, apart = expression.split(constant)
        return self.xor(self.thread_part(expression, scale), crossing * scale), apart * scale

    def thread_part(self, expression: XorExpression, scale: int = 1) -> Int:
        """The run-time part of a layout's expression, times `scale` (a power of two)."""
        up = scale.bit_length() - 1
        parts: list[Int] = []
        for shift in expression.shifts():
            if shift.dim == "block":
                continue
            index = self.lane if shift.dim == "lane" else self.warp
            whole = 31 if shift.dim == "lane" else None
            part = index if shift.mask == whole else self.and_(index, shift.mask)
            distance = shift.shift + up
            parts.append(self.shl(part, distance) if distance >= 0 else self.lshr(part, -distance))
        result: Int = 0
        for part in parts:
            result = self.xor(result, part)
        return result

    # -- vectors and words.  All are pure: a tile that is unpacked in a branch or a loop is unpacked at its definition,
    # so that later code can use the parts, too.

    def poison(self, type: Type) -> Value:
        """A poison value."""
        return self.pure(("poison", type), (), lambda: llvm.Poison(res=type))

    def undefined(self, type: Type) -> Value:
        """An unspecified but fixed value: unlike poison, a program may branch on it."""
        poison = self.poison(type)
        return self.pure("freeze", (poison,), lambda: llvm.Freeze(poison))

    def vector(self, values: Sequence[Value], element: Type) -> Value:
        """Values as one vector (a lone value as itself)."""
        if len(values) == 1:
            return values[0]
        type = VectorType((len(values),), element)
        result = self.poison(type)
        for i, value in enumerate(values):
            operands = (result, value, self.constant(i))
            result = self.pure(
                "insert", operands, lambda operands=operands: llvm.InsertElement(*operands, res=type)
            )
        return result

    def elements(self, vector: Value, count: int, element: Type) -> list[Value]:
        """The elements of a vector (or of a lone value)."""
        if count == 1:
            return [vector]
        found = []
        for i in range(count):
            operands = (vector, self.constant(i))
            found.append(
                self.pure(
                    "extract", operands, lambda operands=operands: llvm.ExtractElement(*operands, res=element)
                )
            )
        return found

    def unpacked(self, word: Value, element: Type) -> list[Value]:
        """The elements that fill a 32-bit word, low bits first."""
        per = 32 // bit_width(element)
        return self.elements(
            self.bitcast(word, VectorType((per,), element) if per > 1 else element), per, element
        )

    def bitcast(self, value: Value, type: Type) -> Value:
        """The bits of a value as another type of that size."""
        if value.type is type:
            return value
        return self.pure(("bitcast", type), (value,), lambda: llvm.Bitcast(value, res=type))

    def fields(self, struct: Value, types: Sequence[Type]) -> list[Value]:
        """The members of a struct value."""
        return [
            self.emit(llvm.ExtractValue(struct, DenseArrayAttr(I64, (i,)), res=type)).results[0]
            for i, type in enumerate(types)
        ]

    def resized(self, value: Value, type: IntegerType, *, signed: bool = False) -> Value:
        """An integer extended or truncated to a type."""
        old = value.type
        assert isinstance(old, IntegerType)
        if old is type:
            return value
        cls = llvm.Trunc if old.width > type.width else llvm.SExt if signed else llvm.ZExt
        return self.pure((cls, type), (value,), lambda: cls(value, res=type))
