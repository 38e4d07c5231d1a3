"""The stages of a program, for an editor to show: the next one, or its PTX."""

from __future__ import annotations

from tessera_tools.diagnostics import error
from tessera_tools.editor.document import Document
from tessera_tools.editor.lowered import target_of
from tessera_tools.editor.text import Json

__all__ = ["show_stage"]

_LANGUAGES = {"llvmir": "llvm", "ptx": "ptx"}


def show_stage(document: Document, line: int, stage: str, gpu: str) -> Json:
    """The text of a stage of the program at a line: `next`, a stage of IR, `llvmir` or `ptx`.

    Returns its title, its text and the language of the text. Raises DiagnosticError.
    """
    from tessera_tools.emit.compiled import Options
    from tessera_tools.emit.driver import begin_lowering, compile_module, pipeline_to
    from tessera_tools.ir.printing import print_op
    from tessera_tools.passes.manager import PassManager
    from tessera_tools.passes.table import stages_from

    program = document.place({"line": line, "character": 0}).program
    if program.module is None:
        raise error(None, "the program has errors")
    module = program.module.clone()
    target = target_of(module, gpu)
    options = Options(target)
    begin = begin_lowering(module, options)
    if stage == "next":
        stage = (*stages_from(begin)[1:], "llvmir")[0]
    title = f"{stage} for {target.name}"
    if stage in _LANGUAGES:
        made = compile_module(module, Options(target, until=stage))
        return {"title": title, "text": made.text(stage), "language": _LANGUAGES[stage]}
    PassManager(pipeline_to(options, begin, stage)).run(module)
    return {"title": title, "text": f"{print_op(module)}\n", "language": "mlir"}
