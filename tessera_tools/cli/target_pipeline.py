"""`tessera-opt --tessera-pipeline=GPU --to=STAGE`: the passes of a target, from the stage of the input.

"sm_90a num-stages=2", module ──▶ Options ──emit/driver.py──▶ Pipeline
"""

from __future__ import annotations

from tessera_tools.api.inputs import DEFAULT_GPU, find_target
from tessera_tools.diagnostics import closest, error
from tessera_tools.emit.compiled import Options
from tessera_tools.emit.tunables import TUNABLES, given_config
from tessera_tools.ir.core import Operation
from tessera_tools.passes.pipeline import Pipeline

__all__ = ["target_pipeline"]

_ABI = ("tensormap", "plain")


def target_pipeline(module: Operation, text: str, to: str | None, verify_each: bool) -> Pipeline:
    """The passes from the stage of the module to `to`, a stage or a pass; None is llvm.

    text: the GPU, and options of the compilation, separated by spaces; all are optional.  An intermediate module
    without target receives it.  Raises DiagnosticError.
    """
    from tessera_tools.emit.driver import begin_lowering, declared_target, pipeline_to

    gpu, given = _read(text)
    target = find_target(gpu or declared_target(module) or DEFAULT_GPU)
    plain = given.pop("abi", None) == "plain"
    options = Options(target, plain_abi=plain, verify_each=verify_each, **given_config(given))
    return pipeline_to(options, begin_lowering(module, options), to or "llvm")


def _read(text: str) -> tuple[str | None, dict[str, str | None]]:
    """The GPU, if it is given, and the options by their fields."""
    gpu: str | None = None
    words = {one.option: one.words for one in TUNABLES} | {"abi": _ABI}
    given: dict[str, str | None] = {one.name: None for one in TUNABLES}
    for word in text.split():
        name, equals, value = word.partition("=")
        if not equals and gpu is None:
            gpu = word
            continue
        if name not in words:
            close = closest(name, words)
            hint = f"did you mean '{close}'?" if close else f"expected one of {', '.join(words)}"
            raise error(None, f"--tessera-pipeline has no option '{name}'; {hint}")
        if value not in words[name]:
            raise error(
                None, f"--tessera-pipeline: {name} expects one of {', '.join(words[name])}; found '{value}'"
            )
        given[name.replace("-", "_")] = value
    return gpu, given
