"""Remarks on kernels that are compiled without TMA because of an option, whatever their facts."""

from __future__ import annotations

from collections.abc import Iterator

from tessera_tools.diagnostics import Remark
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.ir.core import Operation
from tessera_tools.target import Feature, Target

_PLAIN = "the plain ABI has no parameters for tensor maps: leave the option --abi=plain out"
_WARPS = (
    "agents and their pipelines choose the warps of a kernel, which --num-warps fixes: leave that option out"
)
_MOVES = (nv_tileas.TiledLoad, nv_tileas.TiledStore)


def explain_absence(module: Operation, target: Target, plain_abi: bool) -> Iterator[Remark]:
    """A remark for each kernel of nv_tileas that copies tiles, on a target that has TMA."""
    names = {Feature.TCGEN05: "tcgen05.mma", Feature.WGMMA: "wgmma"}
    product = next((name for feature, name in names.items() if target.has(feature)), None)
    if not target.has(Feature.TMA) or product is None:
        return
    why = _PLAIN if plain_abi else _WARPS
    for function in module.walk():
        if isinstance(function, nv_tileaa.Func) and any(isinstance(op, _MOVES) for op in function.walk()):
            remark = Remark("remark", function.location, f"TMA and {product} are not used: {why}")
            remark.source, remark.rule, remark.category = "driver", "agents", "tensorcore"
            remark.function, remark.kind = function.sym_name.value, "missed"
            remark.on_request = True
            yield remark
