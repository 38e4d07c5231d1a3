"""The dialects, one module or folder each; `tessera_tools.opdef.registry` maps names to modules.

A module declares its types, attributes and ops and ends with `DIALECT`; it is imported when the first of its names
is met.  `builtin`, `func`, `arith`, `math`, `scf`, `cf`, `memref`, `vector`, `gpu` and `ub` are upstream MLIR's, in
the spelling of release 22.

Properties that passes query on ops of several dialects are interfaces in `tessera_tools.ir.interfaces` (loops,
branches, flow, accesses).  Properties for a single pass are plain methods of the op, documented at their declaration.
"""
