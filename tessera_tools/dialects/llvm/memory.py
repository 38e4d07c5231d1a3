"""Memory: stack allocation, loads and stores, address arithmetic, atomics, fences."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tessera_tools.dialects.llvm.arith import dereferenceable_text
from tessera_tools.dialects.llvm.attributes import (
    ACCESS_GROUPS,
    ALIAS_SCOPES,
    ATOMIC_OPERATION,
    ATOMIC_OPERATIONS,
    NO_FLAGS,
    ORDERING,
    ORDERINGS,
    TBAA_TAGS,
    ZERO_I64,
    DereferenceableAttr,
)
from tessera_tools.dialects.llvm.base import (
    FLOATS,
    INTEGER,
    INTEGERS,
    LOADABLE,
    POINTER,
    POINTERS,
    Emitter,
    LLVMOp,
)
from tessera_tools.dialects.llvm.syntax import DYNAMIC_INDEX, GEP_FLAGS
from tessera_tools.dialects.llvm.types import ArrayType, PointerType, StructType, is_llvm_type, struct
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import IntegerAttr, StringAttr, TypeAttr
from tessera_tools.ir.core import Operation
from tessera_tools.ir.effects import Resource
from tessera_tools.ir.types import I1, I64, FloatType, IntegerType, VectorType
from tessera_tools.opdef import (
    ALLOCATE,
    I32_ARRAY,
    I32_ATTR,
    I64_ATTR,
    PURE,
    READ_WRITE,
    STRING_ATTR,
    TYPE_ATTR,
    UNIT_ATTR,
    CustomDirective,
    MemoryEffects,
    TypeConstraint,
    attribute,
    derived,
    of_class,
    operand,
    read,
    result,
    same_as,
    variadic_operand,
    write,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState

FIXED_VECTOR: TypeConstraint[VectorType] = TypeConstraint(
    "LLVM dialect-compatible fixed-length vector type",
    lambda t: isinstance(t, VectorType) and is_llvm_type(t) and not any(t.scalable),
)
_ORDERING_WORDS = {number: word for word, number in ORDERINGS.items()}


def _align_text(op: Operation) -> str:
    alignment = op.attributes.get("alignment")
    return f", align {alignment.value}" if isinstance(alignment, IntegerAttr) and alignment.value else ""


def _scope_text(op: Operation) -> str:
    scope = op.attributes.get("syncscope")
    return f' syncscope("{scope.value}")' if isinstance(scope, StringAttr) and scope.value else ""


def _ordering_text(op: Operation, key: str = "ordering") -> str:
    ordering = op.attributes.get(key)
    return (
        f" {_ORDERING_WORDS[ordering.value]}" if isinstance(ordering, IntegerAttr) and ordering.value else ""
    )


def _verify_alignment(op: Operation) -> None:
    alignment = op.attributes.get("alignment")
    if isinstance(alignment, IntegerAttr) and (
        alignment.value < 0 or alignment.value & (alignment.value - 1)
    ):
        raise op.error(f"alignment must be a power of two, but is {alignment.value}")


def is_atomic_type(type: Type) -> bool:
    """True if memory can be accessed in one step: a pointer, or a number of 8, 16, 32 … bits."""
    if isinstance(type, IntegerType | FloatType):
        return type.width >= 8 and type.width & (type.width - 1) == 0
    return isinstance(type, PointerType)


_FLOAT_OPERATIONS = ("fadd", "fsub", "fmax", "fmin", "fmaximum", "fminimum")


class AllocaSyntax(CustomDirective, name="Alloca"):
    """`inalloca %n x f32 {…} : (i32) -> !llvm.ptr`; the type after `x` is the element type."""

    grammar = 'custom: VALUE "x" TYPE attr_dict ":" FUNCTION_TYPE'

    def read(self, state: OpState, node: Node) -> None:
        size, element, dictionary, function = node
        state.operand("array_size", size)
        state.attribute("elem_type", TypeAttr(element))
        for key, value in dictionary.items():
            state.attribute(key, value)
        if len(function.inputs) != 1 or len(function.results) != 1:
            raise state.error(size, "expected a function type with one argument and one result")
        state.types("array_size", list(function.inputs))
        state.types("res", list(function.results))

    def write(self, p: Printer, op: Alloca) -> None:
        p.space()
        p.write(f"{p.name(op.array_size)} x ")
        p.write(p.type(op.elem_type.value))
        p.attr_dict(op, {"elem_type", "inalloca"})
        p.write(" : ")
        p.write(p.function_type([op.array_size.type], [op.res.type]))


class Alloca(LLVMOp, name="llvm.alloca", traits=(ALLOCATE,)):
    """Memory on the stack for `array_size` elements."""

    array_size = operand(INTEGER)
    alignment = attribute(I64_ATTR, optional=True)
    elem_type = attribute(TYPE_ATTR)
    inalloca = attribute(UNIT_ATTR, optional=True)
    res = result(POINTER)
    assembly = (
        "(`inalloca` $inalloca^)? custom<Alloca>($array_size, $elem_type, type($array_size), type($res))"
    )

    def llvm_ir(self, e: Emitter) -> None:
        pointer = self.results[0].type
        space = pointer.address_space if isinstance(pointer, PointerType) else 0
        text = f"alloca {'inalloca ' if self.inalloca else ''}{e.type(self.elem_type.value)}, "
        text += e.operand(self.operand(0))
        e.define(self, text + _align_text(self) + (f", addrspace({space})" if space else ""))

    def verify_op(self) -> None:
        _verify_alignment(self)


class _Access(LLVMOp):
    """Common parts of loads and stores."""

    def metadata_text(self, e: Emitter) -> str:
        """The access's metadata, each with a comma before it."""
        if not self.attributes:
            return ""
        text = ""
        if "nontemporal" in self.attributes:
            text += f", !nontemporal {e.metadata('!{i32 1}')}"
        if "invariant" in self.attributes:
            text += f", !invariant.load {e.metadata('!{}')}"
        if "invariantGroup" in self.attributes:
            text += f", !invariant.group {e.metadata('!{}')}"
        return text + dereferenceable_text(self, e)

    @property
    def is_atomic(self) -> bool:
        """True if other threads may access the same place at the same time."""
        ordering = self.attributes.get("ordering")
        return isinstance(ordering, IntegerAttr) and ordering.value != 0

    def effects(self) -> MemoryEffects | None:
        """A volatile access, and an atomic one that is monotonic or stronger, is also ordered (LLVM's Language
        Reference, "Volatile Memory Accesses", "Atomic Memory Ordering Constraints")."""
        effects = super().effects()
        ordering = self.attributes.get("ordering")
        ordered = isinstance(ordering, IntegerAttr) and ordering.value >= ORDERINGS["monotonic"]
        if effects is not None and (ordered or "volatile_" in self.attributes):
            return effects.and_also(write(resource=Resource.ORDER))
        return effects

    no_orderings: ClassVar[tuple[str, ...]] = ()
    """The orderings that the access cannot have."""

    def verify_op(self) -> None:
        _verify_alignment(self)
        if not self.is_atomic:
            if "syncscope" in self.attributes:
                raise self.error("expected syncscope to be null for non-atomic access")
            return
        type = self.results[0].type if self.results else self.operand(0).type
        if not is_atomic_type(type):
            raise self.error(f"unsupported type '{type}' for atomic access")
        ordering = _ordering_text(self).strip()
        if ordering in self.no_orderings:
            raise self.error(f"unsupported ordering '{ordering}'")
        if "alignment" not in self.attributes:
            raise self.error("expected alignment for atomic access")


class Load(_Access, name="llvm.load", traits=(MemoryEffects(read("addr")),)):
    """A value from memory; `alignment` in bytes."""

    no_orderings = ("release", "acq_rel")

    addr = operand(POINTER)
    alignment = attribute(I64_ATTR, optional=True)
    volatile_ = attribute(UNIT_ATTR, optional=True, key="volatile_")
    nontemporal = attribute(UNIT_ATTR, optional=True)
    invariant = attribute(UNIT_ATTR, optional=True)
    invariant_group = attribute(UNIT_ATTR, optional=True, key="invariantGroup")
    ordering = attribute(ORDERING, default=ZERO_I64)
    syncscope = attribute(STRING_ATTR, optional=True)
    dereferenceable = attribute(of_class(DereferenceableAttr), optional=True)
    access_groups = attribute(ACCESS_GROUPS, optional=True)
    alias_scopes = attribute(ALIAS_SCOPES, optional=True)
    noalias_scopes = attribute(ALIAS_SCOPES, optional=True)
    tbaa = attribute(TBAA_TAGS, optional=True)
    res = result(LOADABLE)
    assembly = (
        "(`volatile` $volatile^)? $addr (`atomic` (`syncscope` `(` $syncscope^ `)`)? $ordering^)? "
        "(`invariant` $invariant^)? (`invariant_group` $invariant_group^)? "
        "custom<Dereferenceable>($dereferenceable) attr-dict `:` type($addr) `->` type($res)"
    )

    def llvm_ir(self, e: Emitter) -> None:
        (use,) = self._operands
        address = use.value
        if not self.attributes:
            e.define(self, f"load {e.type(self.results[0].type)}, {e.type(address.type)} {e.names[address]}")
            return
        order = _ordering_text(self)
        text = f"load {'atomic ' if order else ''}{'volatile ' if self.volatile_ else ''}"
        text += (
            f"{e.type(self.results[0].type)}, "
            + e.operand(address)
            + (_scope_text(self) + order if order else "")
        )
        e.define(self, text + _align_text(self) + self.metadata_text(e))

    def verify_op(self) -> None:
        super().verify_op()
        if self.dereferenceable is not None and not isinstance(self.results[0].type, PointerType):
            raise self.error("expected op to return a single LLVM pointer type")


class Store(_Access, name="llvm.store", traits=(MemoryEffects(write("addr")),)):
    """A value to memory; `alignment` in bytes."""

    no_orderings = ("acquire", "acq_rel")

    value = operand(LOADABLE)
    addr = operand(POINTER)
    alignment = attribute(I64_ATTR, optional=True)
    volatile_ = attribute(UNIT_ATTR, optional=True, key="volatile_")
    nontemporal = attribute(UNIT_ATTR, optional=True)
    invariant_group = attribute(UNIT_ATTR, optional=True, key="invariantGroup")
    ordering = attribute(ORDERING, default=ZERO_I64)
    syncscope = attribute(STRING_ATTR, optional=True)
    access_groups = attribute(ACCESS_GROUPS, optional=True)
    alias_scopes = attribute(ALIAS_SCOPES, optional=True)
    noalias_scopes = attribute(ALIAS_SCOPES, optional=True)
    tbaa = attribute(TBAA_TAGS, optional=True)
    assembly = (
        "(`volatile` $volatile^)? $value `,` $addr (`atomic` (`syncscope` `(` $syncscope^ `)`)? $ordering^)? "
        "(`invariant_group` $invariant_group^)? attr-dict `:` type($value) `,` type($addr)"
    )

    def llvm_ir(self, e: Emitter) -> None:
        value, address = self._operands
        order = _ordering_text(self)
        text = f"store {'atomic ' if order else ''}{'volatile ' if 'volatile_' in self.attributes else ''}"
        text += f"{e.operand(value.value)}, {e.operand(address.value)}" + (
            _scope_text(self) + order if order else ""
        )
        e.emit(text + _align_text(self) + self.metadata_text(e))


class GEP(LLVMOp, name="llvm.getelementptr", traits=(PURE,)):
    """Address arithmetic.  `raw_constant_indices` holds the constant indices, with `DYNAMIC_INDEX` for each operand."""

    base = operand(POINTERS)
    dynamic_indices = variadic_operand(INTEGERS)
    raw_constant_indices = attribute(I32_ARRAY, key="rawConstantIndices")
    elem_type = attribute(TYPE_ATTR)
    no_wrap_flags = attribute(I32_ATTR, default=NO_FLAGS, key="noWrapFlags")
    res = result(POINTERS)
    assembly = (
        "custom<GEPFlags>($no_wrap_flags) $base custom<GEPIndices>($dynamic_indices, $raw_constant_indices) attr-dict "
        "`:` functional-type(operands, results) `,` $elem_type"
    )

    def llvm_ir(self, e: Emitter) -> None:
        base = self._operands[0].value
        flags = gep_llvm_flags(self.no_wrap_flags.value)
        text = f"getelementptr {flags}{e.type(self.elem_type.value)}, {e.operand(base)}"
        e.define(self, text + self.indices_text(e))

    def indices_text(self, e: Emitter) -> str:
        """The indices, each with a comma before it."""
        parts: list[str] = []
        at = 1
        for constant in self.raw_constant_indices.values:
            if constant == DYNAMIC_INDEX:
                parts.append(f", {e.operand(self._operands[at].value)}")
                at += 1
            else:
                parts.append(f", i32 {constant}")
        return "".join(parts)

    def llvm_constant(self, e: Emitter) -> str:
        flags = gep_llvm_flags(self.no_wrap_flags.value)
        base = e.operand(self.operand(0))
        return f"getelementptr {flags}({e.type(self.elem_type.value)}, {base}{self.indices_text(e)})"

    def verify_op(self) -> None:
        flags = self.no_wrap_flags.value
        if flags & GEP_FLAGS["inbounds"] == GEP_FLAGS["inbounds_flag"]:
            raise self.error("'inbounds_flag' cannot be used directly.")
        indices = self.raw_constant_indices.values
        dynamic = sum(i == DYNAMIC_INDEX for i in indices)
        if dynamic != len(self.operands) - 1:
            found = len(self.operands) - 1
            raise self.error(f"expected {dynamic} dynamic indices, as its attribute says, but found {found}")
        type: Type = self.elem_type.value
        for number, index in enumerate(indices[1:], 1):
            if isinstance(type, StructType):
                if index == DYNAMIC_INDEX:
                    raise self.error(f"expected index {number} indexing a struct to be constant")
                if type.types is None or not 0 <= index < len(type.types):
                    raise self.error(f"index {number} indexing a struct is out of bounds")
                type = type.types[index]
            elif isinstance(type, ArrayType | VectorType):
                type = type.element
            else:
                raise self.error(f"type '{type}' cannot be indexed (index #{number})")


def gep_llvm_flags(bits: int) -> str:
    """LLVM's keywords for `noWrapFlags`, followed by a space."""
    text = ""
    if bits & GEP_FLAGS["inbounds"] == GEP_FLAGS["inbounds"]:
        text += "inbounds "
    elif bits & GEP_FLAGS["nusw"]:
        text += "nusw "
    return text + ("nuw " if bits & GEP_FLAGS["nuw"] else "")


class AtomicRMW(LLVMOp, name="llvm.atomicrmw", traits=(READ_WRITE,)):
    """Read, modify and write memory in one step; the old value."""

    bin_op = attribute(ATOMIC_OPERATION)
    ptr = operand(POINTER)
    val = operand(FLOATS | POINTER | INTEGER | FIXED_VECTOR)
    ordering = attribute(ORDERING)
    syncscope = attribute(STRING_ATTR, optional=True)
    alignment = attribute(I64_ATTR, optional=True)
    volatile_ = attribute(UNIT_ATTR, optional=True, key="volatile_")
    access_groups = attribute(ACCESS_GROUPS, optional=True)
    alias_scopes = attribute(ALIAS_SCOPES, optional=True)
    noalias_scopes = attribute(ALIAS_SCOPES, optional=True)
    tbaa = attribute(TBAA_TAGS, optional=True)
    res = result(same_as("val"))
    assembly = (
        "(`volatile` $volatile^)? $bin_op $ptr `,` $val (`syncscope` `(` $syncscope^ `)`)? $ordering attr-dict "
        "`:` type($ptr) `,` type($val)"
    )

    def llvm_ir(self, e: Emitter) -> None:
        pointer, value = self.operands
        word = ATOMIC_OPERATIONS[self.bin_op.value].lstrip("_")
        text = f"atomicrmw {'volatile ' if self.volatile_ else ''}{word} {e.operand(pointer)}, {e.operand(value)}"
        e.define(self, text + _scope_text(self) + _ordering_text(self) + _align_text(self))

    def verify_op(self) -> None:
        _verify_alignment(self)
        if self.ordering.value < ORDERINGS["monotonic"]:
            raise self.error("expected at least 'monotonic' ordering")
        operation, type = ATOMIC_OPERATIONS[self.bin_op.value], self.val.type
        if operation == "xchg":
            if not is_atomic_type(type):
                raise self.error("unexpected LLVM IR type for 'xchg' bin_op")
        elif operation in _FLOAT_OPERATIONS:
            if not isinstance(type.element if isinstance(type, VectorType) else type, FloatType):
                raise self.error("expected LLVM IR floating point type")
        elif not isinstance(type, IntegerType) or type.width not in (8, 16, 32, 64):
            raise self.error("expected LLVM IR integer type")


class OrderingsSyntax(CustomDirective, name="Orderings"):
    """`acq_rel monotonic`: on success and on failure."""

    grammar = "custom: KEYWORD KEYWORD"

    def read(self, state: OpState, node: Node) -> None:
        for key, token in zip(("success_ordering", "failure_ordering"), node, strict=True):
            if token.text not in ORDERINGS:
                raise state.error(
                    token, f"unknown atomic ordering '{token.text}'; expected {', '.join(ORDERINGS)}"
                )
            state.attribute(key, IntegerAttr(ORDERINGS[token.text], I64))

    def write(self, p: Printer, op: Operation) -> None:
        p.write(_ordering_text(op, "success_ordering") + _ordering_text(op, "failure_ordering"))


class AtomicCmpXchg(LLVMOp, name="llvm.cmpxchg", traits=(READ_WRITE,)):
    """Store `val` if memory holds `cmp`; the old value and whether it was stored."""

    ptr = operand(POINTER)
    cmp = operand(same_as("val"))
    val = operand(INTEGER | POINTER)
    success_ordering = attribute(ORDERING)
    failure_ordering = attribute(ORDERING)
    syncscope = attribute(STRING_ATTR, optional=True)
    alignment = attribute(I64_ATTR, optional=True)
    weak = attribute(UNIT_ATTR, optional=True)
    volatile_ = attribute(UNIT_ATTR, optional=True, key="volatile_")
    access_groups = attribute(ACCESS_GROUPS, optional=True)
    alias_scopes = attribute(ALIAS_SCOPES, optional=True)
    noalias_scopes = attribute(ALIAS_SCOPES, optional=True)
    tbaa = attribute(TBAA_TAGS, optional=True)
    res = result(derived("struct of the value's type and i1", lambda val: struct(val, I1), "val"))
    assembly = (
        "(`weak` $weak^)? (`volatile` $volatile^)? $ptr `,` $cmp `,` $val (`syncscope` `(` $syncscope^ `)`)? "
        "custom<Orderings>($success_ordering, $failure_ordering) attr-dict `:` type($ptr) `,` type($val)"
    )

    def llvm_ir(self, e: Emitter) -> None:
        flags = ("weak " if self.weak else "") + ("volatile " if self.volatile_ else "")
        orders = _ordering_text(self, "success_ordering") + _ordering_text(self, "failure_ordering")
        values = ", ".join(map(e.operand, self.operands))
        e.define(self, f"cmpxchg {flags}{values}{_scope_text(self)}{orders}{_align_text(self)}")

    def verify_op(self) -> None:
        _verify_alignment(self)
        if not is_atomic_type(self.val.type):
            raise self.error("unexpected LLVM IR type")
        monotonic = ORDERINGS["monotonic"]
        if self.success_ordering.value < monotonic or self.failure_ordering.value < monotonic:
            raise self.error("ordering must be at least 'monotonic'")
        if self.failure_ordering.value in (ORDERINGS["release"], ORDERINGS["acq_rel"]):
            raise self.error("failure ordering cannot be 'release' or 'acq_rel'")


class Fence(LLVMOp, name="llvm.fence", traits=(READ_WRITE,)):
    """Order memory accesses between threads."""

    ordering = attribute(ORDERING)
    syncscope = attribute(STRING_ATTR, optional=True)
    assembly = "(`syncscope` `(` $syncscope^ `)`)? $ordering attr-dict"

    def llvm_ir(self, e: Emitter) -> None:
        e.emit(f"fence{_scope_text(self)}{_ordering_text(self)}")

    def verify_op(self) -> None:
        if self.ordering.value in (0, ORDERINGS["unordered"], ORDERINGS["monotonic"]):
            raise self.error("can be given only acquire, release, acq_rel, and seq_cst orderings")
