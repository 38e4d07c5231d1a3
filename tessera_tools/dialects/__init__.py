"""The dialects, one module or folder each; `tessera_tools.opdef.registry` maps names to modules.

A module declares its types, attributes and ops and ends with `DIALECT`; it is imported when the first of its names
is met.  `builtin`, `func`, `arith`, `math`, `scf`, `cf`, `memref`, `vector`, `gpu` and `ub` are upstream MLIR's, in
the spelling of release 22.

What passes ask of ops of several dialects has names: the interfaces of `tessera_tools.ir.interfaces` (loops, branches,
flow, accesses).  What one pass asks of an op beside its fields are plain methods, each documented where it is declared.
"""
