"""The Python interface, `import tessera_tools as tt`: compile a tile program, inspect it, launch it.

    tt.compile("gemm.mlir", "sm_90a") ──▶ Kernel ──[grid](a, b, c)──▶ Result
    tt.parse(text) ──▶ module ──tt.run_passes(module, "canonicalize,cse")──▶ tt.to_text(module)

docs/python.md is the guide.
"""
