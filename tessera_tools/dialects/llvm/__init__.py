"""The `llvm` dialect, as upstream MLIR 22 has it: LLVM IR in MLIR's form.

    types.py        !llvm.ptr<3>, !llvm.struct<…>, …            attributes.py  debug_info.py   #llvm.…
    arith.py        add, icmp, fadd, trunc, …                   memory.py      load, store, getelementptr, atomics
    aggregates.py   extractvalue, shufflevector, …              constants.py   mlir.constant, mlir.addressof, …
    control.py      br, cond_br, switch, return                 calls.py       call, call_intrinsic, inline_asm
    elementwise.py  intrinsics.py   intr.fma, intr.assume, …    module_ops.py  func, mlir.global, comdat

Names of classes are upstream's C++ names without `Op`.  How an op becomes LLVM IR stands on its class (base.py).
"""

from __future__ import annotations

from tessera_tools.dialects.llvm import (
    aggregates,
    arith,
    attributes,
    calls,
    constants,
    control,
    debug_info,
    elementwise,
    intrinsics,
    memory,
    module_ops,
    types,
)
from tessera_tools.dialects.llvm.aggregates import *  # noqa: F403
from tessera_tools.dialects.llvm.arith import *  # noqa: F403
from tessera_tools.dialects.llvm.attributes import *  # noqa: F403
from tessera_tools.dialects.llvm.calls import *  # noqa: F403
from tessera_tools.dialects.llvm.constants import *  # noqa: F403
from tessera_tools.dialects.llvm.control import *  # noqa: F403
from tessera_tools.dialects.llvm.debug_info import *  # noqa: F403
from tessera_tools.dialects.llvm.elementwise import *  # noqa: F403
from tessera_tools.dialects.llvm.intrinsics import *  # noqa: F403
from tessera_tools.dialects.llvm.memory import *  # noqa: F403
from tessera_tools.dialects.llvm.module_ops import *  # noqa: F403
from tessera_tools.dialects.llvm.types import *  # noqa: F403
from tessera_tools.ir.attributes import Attribute
from tessera_tools.opdef import Dialect, by_word, ops_of


def _attributes_of(*modules: object) -> list[type[Attribute]]:
    """Every attribute class of the dialect in the modules."""
    return [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Attribute) and value.name.startswith("llvm.")
    ]


DIALECT = Dialect(
    "llvm",
    "LLVM IR in MLIR's form",
    ops_of(arith, memory, aggregates, constants, control, calls, elementwise, intrinsics, module_ops),
    types=by_word(*types.TYPES),
    attributes=by_word(*_attributes_of(attributes, debug_info)),
    materialize=constants.materialize,
)
