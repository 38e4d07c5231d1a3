"""`#nvvm.target`: the GPU of a `gpu.module`, and which ops it has."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from tessera_tools.dialects.llvm.records import ATTRIBUTE, BOOL, INTEGER, TEXT, Parameter, Record
from tessera_tools.ir.builtin_attributes import ArrayAttr, DictionaryAttr, StringAttr

if TYPE_CHECKING:
    from typing import Self

    from tessera_tools.ir.core import Operation
    from tessera_tools.ir.scanner import Scanner

_DICTIONARY = Parameter(lambda s: DictionaryAttr.of(s.dictionary()), str)

_SINCE = {
    "nvvm.redux.sync": 80,
    "nvvm.shfl.sync": 30,
    **dict.fromkeys(
        (
            "nvvm.cluster.arrive.relaxed", "nvvm.cluster.wait", "nvvm.cp.async.bulk.wait_group",
            "nvvm.cp.async.bulk.tensor.shared.cluster.global", "nvvm.mapa",
            "nvvm.read.ptx.sreg.cluster.ctaid.x", "nvvm.read.ptx.sreg.cluster.ctaid.y",
            "nvvm.read.ptx.sreg.cluster.ctaid.z", "nvvm.read.ptx.sreg.cluster.ctarank",
            "nvvm.read.ptx.sreg.cluster.nctaid.x", "nvvm.read.ptx.sreg.cluster.nctaid.y",
            "nvvm.read.ptx.sreg.clusterid.x", "nvvm.read.ptx.sreg.aggr.smem.size",
        ),
        90,
    ),
    "nvvm.clusterlaunchcontrol.try.cancel": 100,
    "nvvm.clusterlaunchcontrol.query.cancel": 100,
}  # fmt: skip
"""The first compute capability of an op, where upstream's op names one."""
_ONLY = {"nvvm.wgmma.": (90,), "nvvm.tcgen05.": (100, 101, 103, 110)}
"""The architectures of ops by the start of their names; their code is for one architecture (sm_90a) or family."""


class TargetAttr(Record, name="nvvm.target"):
    """`#nvvm.target<chip = "sm_90a", flags = {fast}>`: how a `gpu.module` is to be compiled."""

    level: int = 2
    triple: str = "nvptx64-nvidia-cuda"
    chip: str = "sm_50"
    features: str = ""
    flags: DictionaryAttr | None = None
    link: ArrayAttr | None = None
    verifyTarget: bool = True
    parameters_as: ClassVar = {
        "level": INTEGER, "triple": TEXT, "chip": TEXT, "features": TEXT, "flags": _DICTIONARY, "link": ATTRIBUTE,
        "verifyTarget": BOOL,
    }  # fmt: skip
    spelled: ClassVar = {"level": "O"}

    def verify(self) -> None:
        if not 0 <= self.level <= 3:
            raise ValueError("The optimization level must be a number between 0 and 3.")
        if not self.triple:
            raise ValueError("The target triple cannot be empty.")
        if not self.chip:
            raise ValueError("The target chip cannot be empty.")
        if self.link is not None and not (
            isinstance(self.link, ArrayAttr) and all(isinstance(file, StringAttr) for file in self.link)
        ):
            raise ValueError("All the elements in the `link` array must be strings.")

    def text(self) -> str:
        parameters = self.parameters_text()
        return f"#{self.name}{parameters if parameters != '<>' else ''}"

    @classmethod
    def parse(cls, s: Scanner) -> Self:
        return super().parse(s) if s.peek("<") else cls()

    def verify_target(self, module: Operation) -> None:
        """Refuse ops of a module that the GPU does not have. Raises DiagnosticError."""
        chip = re.match(r"...([0-9]+)([af]?)", self.chip)
        if not self.verifyTarget or chip is None:
            return
        number, suffix = int(chip[1]), chip[2]
        if number < 20:
            raise module.error("Minimum NVVM target SM version is sm_20")
        for op in module.walk():
            name = str(op.name)
            only = next((found for start, found in _ONLY.items() if name.startswith(start)), None)
            if number < _SINCE.get(name, 0) or (only is not None and not (suffix and number in only)):
                raise op.error(f"is not supported on {self.chip}")
