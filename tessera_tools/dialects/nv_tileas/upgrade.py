"""The translation of the older spelling of `nv_tileas` (older.py) into today's ops."""

from __future__ import annotations

from collections.abc import Callable

from tessera_tools.dialects.arith import Constant
from tessera_tools.dialects.atoms import MmaAtom
from tessera_tools.dialects.cute import CopyAtomAttr
from tessera_tools.dialects.nv_tileaa import MEM_TOKEN, CreateMemToken, Func, KernelSpecAttr, Return
from tessera_tools.dialects.nv_tileas.base import SharedAttr, SmemType
from tessera_tools.dialects.nv_tileas.older import OLDER_OPS, OlderFunc, OlderLoad, OlderReturn, OlderTmaStore
from tessera_tools.dialects.nv_tileas.ops import AllocTensor, Dot, Store, TiledLoad
from tessera_tools.dialects.nv_tileas.tma import (
    AsyncDot,
    AsyncDotWait,
    AsyncStoreWait,
    FenceProxy,
    MakeTiledTmaDesc,
    TiledTmaLoad,
    TiledTmaStore,
    TmaDescType,
    View,
)
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, i32
from tessera_tools.ir.core import Operation, Region, Value
from tessera_tools.ir.types import I64, RankedTensorType, bit_width
from tessera_tools.layout import transpose
from tessera_tools.layout.shared import swizzled


def upgrade_older(module: Operation) -> None:
    """Translates what is in the older spelling, in place.  DiagnosticError where something has no counterpart."""
    ops = list(module.walk())
    if not any(isinstance(op, OLDER_OPS) for op in ops):
        return
    upgrade = _Upgrade()
    for op in ops:
        rule = upgrade.rules.get(type(op))
        if rule is not None:
            try:
                rule(op)
            except ValueError as problem:  # of a type that today's dialect refuses
                raise op.error(str(problem)) from None
    for op in ops:
        if isinstance(op, OlderReturn):
            upgrade.replace(op, Return(op.operands))
        elif isinstance(op, OlderFunc):
            upgrade.function(op)


class _Upgrade:
    """The rules, in the order of the program: operands are translated before their users."""

    def __init__(self) -> None:
        self.rules: dict[type[Operation], Callable[..., None]] = {
            MakeTiledTmaDesc: self.descriptor,
            View: self.view,
            Dot: self.dot,
            OlderLoad: self.load,
            OlderTmaStore: self.store,
        }

    def replace(self, old: Operation, *new: Operation, values: list[Value] | None = None) -> None:
        """Puts ops in the place of one; the last one's results (or `values`) take over its uses and names."""
        assert old.parent is not None
        for op in new:
            op.location = old.location
            old.parent.insert_before(old, op)
        for before, after in zip(old.results, values if values is not None else new[-1].results, strict=True):
            after.name_hint = before.name_hint
            before.replace_all_uses_with(after)
        old.erase()

    def function(self, op: OlderFunc) -> None:
        body = Region()
        body.take_blocks(op.regions[0])
        made = Func.create([], [], dict(op.attributes), [body], location=op.location)
        self.replace(op, made)

    def descriptor(self, op: MakeTiledTmaDesc) -> None:
        """The buffers that a descriptor's boxes are copied to lie in its swizzle."""
        for copy in op.res.users:
            if not isinstance(copy, TiledTmaLoad):
                continue
            type = copy.buffer.type
            if isinstance(type, SmemType) and type.layout is None:
                layout = swizzled(type.tile, bit_width(type.element), None, op.atom.swizzle)
                copy.buffer.type = SmemType(type.shape, type.element, SharedAttr(layout))

    def view(self, op: View) -> None:
        """One stage of the buffer."""
        old, new = op.buffer.type, op.res.type
        if len(new.shape) == len(old.tile):
            if new.shape != old.tile:
                raise op.error(f"gives {new} for one stage of {old}")
            op.res.type = SmemType((1, *old.tile), new.element, old.layout)

    def dot(self, op: Dot) -> None:
        if not isinstance(op.b.type, SmemType):
            return
        a, b, c = (op.a.type, op.b.type, op.c.type)
        if not isinstance(op.atom, MmaAtom) or len(b.tile) != 2:
            raise op.error("multiplies stages of buffers; expected matrices, and an atom of wgmma")
        depth = a.tile[1] if isinstance(a, SmemType) else a.shape[1]
        if (b.tile == (c.shape[1], depth) and b.tile != (depth, c.shape[1])) or b.tile[0] != depth:
            self.transposed(op)
        started = AsyncDot(op.a, op.b, op.c, op.atom, DenseArrayAttr(I64, _warps(op, c)))
        done = AsyncDotWait(started.res, i32(0), res=c)
        self.replace(op, started, done)

    def transposed(self, op: Dot) -> None:
        """The right factor as N×K becomes a view of the same stage as K×N."""
        made = op.b.defining_op
        if not isinstance(made, View) or not made.res.has_one_use:
            raise op.error("has a right factor of N×K; expected the nv_tileas.view of a stage")
        old = made.res.type
        layout = SharedAttr(transpose(old.layout.layout, (1, 0))) if old.layout is not None else None
        made.res.type = SmemType((1, *reversed(old.tile)), old.element, layout)

    def load(self, op: OlderLoad) -> None:
        token = CreateMemToken(res=MEM_TOKEN)
        made = TiledLoad(op.view, op.indices, token.res, op.atom, res=op.res.type, out_token=MEM_TOKEN)
        self.replace(op, token, made, values=[made.res])

    def store(self, op: OlderTmaStore) -> None:
        """The tile goes through a buffer, in boxes as wide as the swizzle."""
        made = op.desc.defining_op
        if not isinstance(made, MakeTiledTmaDesc):
            raise op.error("stores through a descriptor that no nv_tileas.make_tiled_tma_desc makes")
        type = op.buffer.type
        bits, swizzle = bit_width(type.element), made.atom.swizzle
        layout = SharedAttr(swizzled(type.shape, bits, None, swizzle))
        alloc = AllocTensor(res=SmemType((1, *type.shape), type.element, layout))
        if swizzle:
            width = 8 * swizzle // bits
            box = (*type.shape[:-1], min(width, type.shape[-1]))
            if tuple(made.box.values) == type.shape and box != type.shape:
                made.box = DenseArrayAttr(I64, box)
                made.res.type = TmaDescType(box, type.element)
        zero = Constant(i32(0))
        atom = CopyAtomAttr.make(80, "sts", bits, type.element)
        stored = Store(op.buffer, alloc.res, zero.results[0], None, atom)
        fence = FenceProxy()
        sent = TiledTmaStore(op.desc, op.indices, alloc.res, zero.results[0])
        self.replace(op, alloc, zero, stored, fence, sent, AsyncStoreWait(i32(0)), values=[])


def _warps(op: Operation, sums: RankedTensorType) -> tuple[int, int]:
    """The warps of a product's kernel along M and N: each warpgroup has at least 64 rows."""
    function: Operation | None = op
    while function is not None and not isinstance(function, Func | OlderFunc):
        function = function.parent_op
    spec = function.attributes.get("nv_tileaa.kernel_spec") if function is not None else None
    groups = max(1, spec.num_warps // 4) if isinstance(spec, KernelSpecAttr) else 1
    along = max(1, min(groups, sums.shape[0] // 64))
    return 4 * along, max(1, groups // along)
