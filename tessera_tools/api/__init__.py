"""The Python interface, which `import tessera_tools as tt` gives: compile a tile program, look at it, launch it.

    tt.compile("gemm.mlir", "sm_90a") ──▶ Kernel ──[grid](a, b, c)──▶ Result
    tt.parse(text) ──▶ module ──tt.run_passes(module, "canonicalize,cse")──▶ tt.to_text(module)

docs/python.md is the guide.
"""
