"""`cuda-tile-lint`: emit remarks about slow code and likely mistakes in a cuda_tile program, without changing it.

k.mlir:7:3: remark: the base address is known to be a multiple of 1 bytes only; … [unaligned-base]
note: assume div_by<16> of the pointer, if that holds
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tessera_tools.ir.core import Operation
from tessera_tools.ir.symbols import symbol_name
from tessera_tools.passes.base import OptionError, Pass, PassContext, PassFailure, option
from tessera_tools.records import dataclass

__all__ = ["CATEGORIES", "CudaTileLint"]

CATEGORIES = ("all", "memory", "tensorcore", "resources", "arithmetic", "hints")


@dataclass(frozen=True)
class CudaTileLint(Pass):
    """Report slow code and likely mistakes: unaligned views, unknown strides, tiles that do not fit, missed tensor
    cores.

    Every remark names its rule, which `disable` turns off; docs/lint.md explains each rule.
    """

    name = "cuda-tile-lint"
    summary = "emit remarks about slow code and likely mistakes"
    ensures = "the IR is unchanged"
    statistics: ClassVar[Mapping[str, str]] = {"num-remarks": "Number of remarks"}

    gpu_name: str = option("sm_80", "the target GPU")
    category: str = option("all", "emit only remarks of this kind", choices=CATEGORIES)
    disable: tuple[str, ...] = option((), "names of rules to disable")

    def __post_init__(self) -> None:
        from tessera_tools.passes.cuda_tile.lint_rules import RULES

        for rule in self.disable:
            if rule not in RULES:
                raise OptionError(f"unknown rule '{rule}'; expected {', '.join(RULES)}", "disable")

    def run(self, op: Operation, context: PassContext) -> bool:
        from tessera_tools.passes.cuda_tile.lint_rules import CHECKS, RULES, Scope, stores_of
        from tessera_tools.target import UnknownTargetError, lookup

        try:
            target = lookup(self.gpu_name)
        except UnknownTargetError as unknown:
            raise PassFailure(unknown.message, None, unknown.hint) from None
        kernels = [inner for inner in (op, *op.walk()) if inner.attributes.get("function_type") is not None]
        for kernel in kernels:
            scope = Scope(target, stored=stores_of(kernel))
            for inner in (kernel, *kernel.walk()):
                if not inner.name.startswith("cuda_tile."):
                    continue
                for check in CHECKS:
                    for finding in check(inner, scope):
                        category = RULES[finding.rule][0]
                        if self.category in ("all", category) and finding.rule not in self.disable:
                            context.count("num-remarks")
                            context.remark(
                                inner.location,
                                finding.message,
                                rule=finding.rule,
                                category=category,
                                function=symbol_name(kernel) or "",
                                source=self.name,
                                notes=[finding.advice],
                            )
        return False
