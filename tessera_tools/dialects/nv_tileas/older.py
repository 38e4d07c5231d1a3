"""The older spelling of `nv_tileas`, as the walk-through of the stages prints it, and its translation into today's.

    %t = nv_tileas.tiled_load %v, [%i, %j] {atom = …} : tensor<64x64xf32>
        ─▶ create_mem_token; tiled_load %v[%i, %j], %token {atom = …} : … -> …

It is read into today's ops where only the text differs, and into the ops of this module where an op differs, too;
`upgrade_older` (upgrade.py) replaces them.  What differs besides commas and types that are left out:

- functions are `nv_tileas.func`; a pipeline names the agents of its two sides, `producer = #nv_tileas.agent<1>`.
- a buffer has no layout, and the `view` of a stage no number of stages: a descriptor's swizzle says how it lies.
- `dot` takes stages of buffers; today that is `async.dot`, and a wait for it.  Its right factor may be N×K.
- a tile is stored by TMA as it is; today it is first stored to a buffer.
- loads and stores have no tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tessera_tools.dialects.nv_tileaa import COPY_ATOM, VIEW, Func
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.scanner import integer_of
from tessera_tools.ir.types import I32
from tessera_tools.opdef import (
    ANY_RANKED_TENSOR,
    RETURN_LIKE,
    CustomDirective,
    HasParent,
    Op,
    attribute,
    exactly,
    operand,
    result,
    variadic_operand,
)

if TYPE_CHECKING:
    from tessera_tools.dialects.nv_tileas.ops import TiledLoad
    from tessera_tools.dialects.nv_tileas.pipelines import CreatePipeline
    from tessera_tools.dialects.nv_tileas.tma import MakeTiledTmaDesc, TiledTmaLoad, TiledTmaStore, View
    from tessera_tools.ir.printing import Printer
    from tessera_tools.ir.scanner import Scanner
    from tessera_tools.opdef.directive import Node, OpState


class AgentAttr(Attribute, name="nv_tileas.agent"):
    """`#nv_tileas.agent<4>`: an agent of so many warps."""

    warps: int

    def verify(self) -> None:
        if not 1 <= self.warps <= 32:
            raise ValueError(f"has {self.warps} warps; a CTA has 1 to 32")

    @classmethod
    def parse(cls, s: Scanner) -> AgentAttr:
        s.expect("<")
        warps = s.integer()
        s.expect(">")
        return cls(warps)

    def text(self) -> str:
        return f"#nv_tileas.agent<{self.warps}>"


# -- where only the text differs


class _Older(CustomDirective):
    """Syntax that is read, and not written."""

    def write(self, p: Printer, op: Any) -> None:
        pass

    def covers(self) -> tuple[set[str], set[str]]:
        return set(), set()


class OlderComma(_Older, name="OlderComma"):
    """A comma that today's spelling does not have."""

    grammar = 'custom: | ","'

    def read(self, state: OpState, node: Node) -> None:
        pass


class OlderAtom(_Older, name="OlderAtom"):
    """`, atom = #…` outside of the dictionary."""

    grammar = 'custom: ["," "atom" "=" ATTRIBUTE]'

    def read(self, state: OpState, node: Node) -> None:
        if node[0] is not None:
            state.attribute("atom", node[0])


class OlderType(_Older, name="OlderType"):
    """The type of a number that has only one."""

    grammar = 'custom: [":" TYPE]'

    def read(self, state: OpState, node: Node) -> None:
        pass


class OlderResult(_Older, name="OlderResult"):
    """The type of a result that follows from the operands."""

    grammar = 'custom: ["->" TYPE]'

    def read(self, state: OpState, node: Node) -> None:
        pass


class OperandOrResult(CustomDirective, name="OperandOrResult"):
    """`memref<…> -> tma_desc<…>`; the older spelling has the second type alone."""

    grammar = 'custom: TYPE ["->" TYPE]'

    def read(self, state: OpState, node: Node) -> None:
        source, res = self.arguments
        first, second = node
        if second is not None:
            state.types(source, [first])
        state.types(res, [first if second is None else second])

    def write(self, p: Printer, op: MakeTiledTmaDesc | View) -> None:
        source, res = (value.type for name in self.arguments for value in op.values_of(name))
        p.write(f" {p.type(source)} -> {p.type(res)}")


class CopyTypes(CustomDirective, name="CopyTypes"):
    """`: tma_desc<…>, smem<…>`; the older spelling has no types."""

    grammar = 'custom: [":" TYPE "," TYPE]'

    def read(self, state: OpState, node: Node) -> None:
        for field, type in zip(self.arguments, node, strict=True):
            if type is not None:
                state.types(field, [type])

    def write(self, p: Printer, op: TiledTmaLoad | TiledTmaStore) -> None:
        p.write(f" : {p.type(op.desc.type)}, {p.type(op.buffer.type)}")


class Arrivals(CustomDirective, name="Arrivals"):
    """`producers = 1, consumers = 4`; the older spelling is `producer = #nv_tileas.agent<1>, consumer = …`."""

    grammar = """
    custom: "producers" "=" INTEGER "," "consumers" "=" INTEGER -> today
        | "producer" "=" ATTRIBUTE "," "consumer" "=" ATTRIBUTE -> older
    """

    def read(self, state: OpState, node: Node) -> None:
        form, (producer, consumer) = node
        if form == "today":
            counts = [integer_of(token.text) for token in (producer, consumer)]
        else:
            for given in (producer, consumer):
                if not isinstance(given, AgentAttr):
                    raise state.error(None, f"has an agent {given}; expected #nv_tileas.agent<warps>")
            # One thread says how many bytes TMA brings; each warp of the consumer releases the stage.
            counts = [1, consumer.warps]
        for name, count in zip(("producers", "consumers"), counts, strict=True):
            state.attribute(name, IntegerAttr(count, I32))

    def write(self, p: Printer, op: CreatePipeline) -> None:
        p.write(f" producers = {op.producers.value}, consumers = {op.consumers.value}")


# -- where the op differs


class OlderToken(_Older, name="OlderToken"):
    """`, %token`, which the older load does not have."""

    grammar = 'custom: ["," VALUE]'

    def read(self, state: OpState, node: Node) -> None:
        (token,) = node
        if token is None:
            state.definition = OlderLoad.definition
        else:
            state.operand("token", token)

    def write(self, p: Printer, op: TiledLoad) -> None:
        p.write(f", {p.name(op.token)}")


class LoadTypes(CustomDirective, name="LoadTypes"):
    """`memref<…> -> tensor<…>, mem_token`; the older spelling is the tile's type alone."""

    grammar = 'custom: TYPE ["->" TYPE "," TYPE]'

    def read(self, state: OpState, node: Node) -> None:
        first, res, token = node
        if (res is None) != (state.definition is OlderLoad.definition):
            raise state.error(None, "expected both a token and its type, or neither")
        if res is None:
            state.types("res", [first])
            return
        state.types("view", [first])
        state.types("res", [res])
        state.types("out_token", [token])

    def write(self, p: Printer, op: TiledLoad) -> None:
        p.write(f" {p.type(op.view.type)} -> {p.type(op.res.type)}, {p.type(op.out_token.type)}")


class OlderStage(_Older, name="OlderStage"):
    """`[%stage]` of a buffer; the older spelling names a tile, which has none."""

    grammar = 'custom: ["[" VALUE "]"]'

    def read(self, state: OpState, node: Node) -> None:
        (stage,) = node
        if stage is None:
            state.definition = OlderTmaStore.definition
        else:
            state.operand("stage", stage)

    def write(self, p: Printer, op: TiledTmaStore) -> None:
        p.write(f"[{p.name(op.stage)}]")


class OlderFunc(Func, name="nv_tileas.func"):
    """A tile function (older spelling)."""

    assembly = "custom<TileFunction>"


class OlderReturn(Op, name="nv_tileas.return", traits=(RETURN_LIKE, HasParent("nv_tileas.func"))):
    """Returns from a tile function (older spelling)."""

    operands_ = variadic_operand()
    assembly = "attr-dict ($operands^ `:` type($operands))?"


class OlderLoad(Op, name="nv_tileas.older_tiled_load"):
    """Load of a tile without tokens (older spelling)."""

    view = operand(VIEW)
    indices = variadic_operand(exactly(I32))
    atom = attribute(COPY_ATOM)
    res = result(ANY_RANKED_TENSOR)


class OlderTmaStore(Op, name="nv_tileas.older_tiled_tma_store"):
    """Store of a tile by TMA (older spelling)."""

    desc = operand()
    indices = variadic_operand(exactly(I32))
    buffer = operand(ANY_RANKED_TENSOR)


OLDER_OPS = (OlderFunc, OlderReturn, OlderLoad, OlderTmaStore)
