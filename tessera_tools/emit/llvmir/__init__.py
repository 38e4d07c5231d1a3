"""From the llvm and nvvm dialects to LLVM IR text.

    module.py     header, globals, functions, metadata sections     function.py   blocks, phi nodes, instructions
    types.py      constants.py   parameters.py   names.py           metadata.py   nodes, loops
    debug.py      scopes and positions

The translation of an op is a method of its class: `llvm_ir(emitter)`, usually made from `llvm_instruction` or
`intrinsic`.
"""

from __future__ import annotations

from tessera_tools.emit.llvmir.module import emit_llvm_ir, emit_with_inlined

__all__ = ["emit_llvm_ir", "emit_with_inlined"]
