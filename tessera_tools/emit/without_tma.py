"""Remarks on kernels that are compiled without TMA because of an option, whatever their facts."""

from __future__ import annotations

from collections.abc import Iterator

from tessera_tools.diagnostics import Remark
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.ir.core import Operation
from tessera_tools.target import Feature, Target

_PLAIN = "the plain ABI has no parameters for tensor maps"
_WARPS = "agents and their pipelines choose the warps of a kernel, which --num-warps fixes"
_MOVES = (nv_tileas.TiledLoad, nv_tileas.TiledStore)


def explain_absence(module: Operation, target: Target, plain_abi: bool) -> Iterator[Remark]:
    """A remark for each kernel of nv_tileas that copies tiles, on a target that has TMA."""
    if not target.has(Feature.TMA) or not target.has(Feature.WGMMA):
        return
    for function in module.walk():
        if isinstance(function, nv_tileaa.Func) and any(isinstance(op, _MOVES) for op in function.walk()):
            remark = Remark(
                "remark", function.location, f"TMA and wgmma are not used: {_PLAIN if plain_abi else _WARPS}"
            )
            remark.source, remark.rule, remark.category = "driver", "agents", "tensorcore"
            remark.function, remark.kind = function.sym_name.value, "missed"
            remark.on_request = True
            yield remark
