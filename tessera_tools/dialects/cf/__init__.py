"""The `cf` dialect: branches between blocks.

A branch passes operands to the arguments of its target block: `branch_operands(i)` are those for successor i, and
`set_branch_operands(i, values)` replaces them.
"""

from __future__ import annotations

from tessera_tools.dialects.cf import ops
from tessera_tools.dialects.cf.ops import Assert, Branch, CondBranch, Switch
from tessera_tools.opdef import Dialect, ops_of

DIALECT = Dialect(
    "cf", "branches", ops_of(ops), canonicalizers="tessera_tools.dialects.cf.canonicalize", is_complete=True
)


__all__ = ["DIALECT", "Assert", "Branch", "CondBranch", "Switch"]
