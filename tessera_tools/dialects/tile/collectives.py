"""Exchange between the ranks of a mesh."""

from __future__ import annotations

from tessera_tools.dialects.tile.base import ANY_BUFFER, MAKES
from tessera_tools.opdef import I64_ATTR, STRING_ATTR, Op, attribute, operand, result


class Collective(Op):
    """The base of collectives: `mesh_axis` names the axis of the module's mesh whose ranks take part."""

    source = operand(ANY_BUFFER)
    mesh_axis = attribute(STRING_ATTR)
    implementation = attribute(STRING_ATTR, optional=True)
    res = result(ANY_BUFFER)
    assembly = "$source attr-dict `:` type($source) `->` type($res)"

    def verify_op(self) -> None:
        source, res = self.source.type, self.res.type
        if source.element is not res.element or source.rank != res.rank:
            raise self.error(f"turns {source} into {res}: ranks and element types must agree")


class AllReduce(Collective, name="tile.allreduce", traits=(MAKES,)):
    """The elements of all ranks combined, on every rank."""

    reduction_kind = attribute(STRING_ATTR)


class AllGather(Collective, name="tile.allgather", traits=(MAKES,)):
    """The parts of all ranks one behind the other along dimension `dim`, on every rank."""

    dim = attribute(I64_ATTR)


class ReduceScatter(Collective, name="tile.reduce_scatter", traits=(MAKES,)):
    """The elements of all ranks combined; each rank has its part along dimension `dim`."""

    dim = attribute(I64_ATTR)
    reduction_kind = attribute(STRING_ATTR)


class AllToAll(Collective, name="tile.all_to_all", traits=(MAKES,)):
    """What is cut along dimension `gather_dim` is then cut along `split_dim`."""

    split_dim = attribute(I64_ATTR)
    gather_dim = attribute(I64_ATTR)
