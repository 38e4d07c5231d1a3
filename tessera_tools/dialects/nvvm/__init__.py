"""The `nvvm` dialect, as upstream MLIR 22 has it: PTX's special registers, synchronisation, copies and tensor cores.

    attributes.py   #nvvm.mma_layout<row>, …        registers.py   read.ptx.sreg.*
    sync.py         barriers, shuffles, fences      mbarriers.py   mbarrier.*
    copies.py       cp.async, bulk and TMA copies   mma.py         ldmatrix, mma.sync, wgmma
    misc.py         conversions, inline_ptx

Each op is a call of an intrinsic where LLVM has one, and inline PTX otherwise (base.py).
"""

from __future__ import annotations

from tessera_tools.dialects.nvvm import attributes, copies, mbarriers, misc, mma, registers, sync
from tessera_tools.dialects.nvvm.attributes import *  # noqa: F403
from tessera_tools.dialects.nvvm.copies import *  # noqa: F403
from tessera_tools.dialects.nvvm.mbarriers import *  # noqa: F403
from tessera_tools.dialects.nvvm.misc import *  # noqa: F403
from tessera_tools.dialects.nvvm.mma import *  # noqa: F403
from tessera_tools.dialects.nvvm.registers import *  # noqa: F403
from tessera_tools.dialects.nvvm.sync import *  # noqa: F403
from tessera_tools.ir.attributes import Attribute
from tessera_tools.opdef import Dialect, by_word, ops_of

_ATTRIBUTES: list[type[Attribute]] = [
    value
    for value in vars(attributes).values()
    if isinstance(value, type) and issubclass(value, Attribute) and value.name.startswith("nvvm.")
]

DIALECT = Dialect(
    "nvvm",
    "NVIDIA's instructions as LLVM intrinsics",
    ops_of(registers, sync, mbarriers, copies, mma, misc),
    attributes=by_word(*_ATTRIBUTES),
)
