"""The choice of the instruction for a product: the first row for its types in the table that the target supports.

f32 is not rounded to tf32, so it has no tensor core instruction. Its row is `fma`, a fused multiply-add for each term.
If the tensor cores have no instruction for 8-bit and 4-bit floats, these are converted in registers to f16, which
represents all of their values.  A product with scales of blocks that an instruction multiplies by itself has an
instruction of its own (`SCALE_VECTORS` in dialects/atoms.py).  A tile may be smaller than the instruction: see
dot_layouts.py.
"""

from __future__ import annotations

from tessera_tools.analysis.axis import is_elementwise
from tessera_tools.dialects import nv_tileaa
from tessera_tools.dialects.atoms import FMA, MMA, PRODUCTS, MmaAtom, Product, scale_vector
from tessera_tools.dialects.cute_nvgpu import MmaAtomAttr
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.core import Operation, OpResult, Value
from tessera_tools.ir.types import IntegerType, RankedTensorType, Type
from tessera_tools.target import Target


def mma_atom(op: nv_tileaa.Dot, target: Target) -> MmaAtomAttr:
    """Returns the instruction for the types of a product. If there is none, the error lists the available ones."""
    a, b, c = (v.type.element for v in (op.a, op.b, op.c))
    rows = [row for row in PRODUCTS if row.primitive in (MMA, FMA)]
    for row in rows:
        if (
            a in row.operands
            and b in row.operands
            and c in row.accumulators
            and (row.feature is None or target.has(row.feature))
            and not (row.whole and _is_smaller(op, row))
            and (not row.scaled or scale_vector(op, row.k) is not None)
        ):
            shape = (row.m, row.n[0], row.k)
            return MmaAtomAttr(
                row.primitive,
                row.since,
                shape,
                signed_factor(a, op.unsigned_a),
                signed_factor(b, op.unsigned_b),
                c,
            )
    served = ", ".join(
        f"{'/'.join(map(str, row.operands))} into {'/'.join(map(str, row.accumulators))}"
        for row in {(r.operands, r.accumulators): r for r in rows if not r.scaled}.values()
    )
    raise op.error(f"multiplies {a} by {b} into {c}, for which there is no instruction; supported: {served}")


def _is_smaller(op: nv_tileaa.Dot, row: Product) -> bool:
    """Returns true if the tile of a product is known to be smaller than an instruction."""
    a, c = op.a.type, op.c.type
    if not isinstance(a, RankedTensorType) or not isinstance(c, RankedTensorType):
        return False
    return c.shape[-2] < row.m or c.shape[-1] < row.n[0] or a.shape[-1] < row.k


def has_lowering(atom: MmaAtom) -> bool:
    """Returns true if `mma_atom` chooses the atom for some target. Other atoms have no lowering."""
    signs = [t.signedness != "signless" for t in (atom.a, atom.b) if isinstance(t, IntegerType)]
    return all(signs) and bool(atom.rows())


def signed_factor(element: Type, unsigned: Attribute | None = None) -> Type:
    """Returns an integer type with explicit signedness, as atoms have it. Other types are unchanged."""
    if not isinstance(element, IntegerType):
        return element
    return IntegerType(element.width, "unsigned" if unsigned is not None else "signed")


def is_chained(op: nv_tileaa.Dot) -> bool:
    """Returns true if another product computes the left operand of this one, or this one computes that of another.

    If all warps lie along the rows, an accumulator can be the left operand of another product in the same threads.
    """
    return _product_before(op.a) or any(_reaches_left_operand(user, set()) for user in _users(op.res))


def _users(value: Value) -> list[Operation]:
    return list(dict.fromkeys(value.users))


def _product_before(value: Value) -> bool:
    seen: set[Value] = set()
    work = [value]
    while work:
        found = work.pop()
        if found in seen or not isinstance(found, OpResult):
            continue
        seen.add(found)
        if isinstance(found.op, nv_tileaa.Dot):
            return True
        if is_elementwise(found.op):
            work += [v for v in found.op.operands if isinstance(v.type, RankedTensorType)]
    return False


def _reaches_left_operand(user: Operation, seen: set[Operation]) -> bool:
    work = [user]
    reached: set[Value] = set()
    while work:
        op = work.pop()
        if op in seen:
            continue
        seen.add(op)
        if isinstance(op, nv_tileaa.Dot):
            if op.a in reached:
                return True
        elif is_elementwise(op):
            for result in op.results:
                reached.add(result)
                work += _users(result)
    return False
