"""Ops of the `cuda_tile` dialect for tests; no frontend creates them.

`testing$func` is a function with arguments and results of any type, whereas an entry takes scalars and returns nothing:
a test of one op needs no code to make its operands. No pass lowers it. The reference registers it in builds with tests.
"""

from __future__ import annotations

from tessera_tools.dialects.cuda_tile.debug_checks import check_function
from tessera_tools.dialects.cuda_tile.structure import FUNCTION_TYPE_ATTR, Return, check_argument_attributes
from tessera_tools.opdef import (
    ARRAY_ATTR,
    ISOLATED_FROM_ABOVE,
    SINGLE_BLOCK,
    SYMBOL,
    SYMBOL_NAME,
    ImplicitTerminator,
    Op,
    attribute,
    region,
)


class TestFunc(
    Op,
    name="cuda_tile.testing$func",
    traits=(ISOLATED_FROM_ABOVE, SINGLE_BLOCK, SYMBOL, ImplicitTerminator(Return)),
):
    """A function of any signature, for tests."""

    sym_name = attribute(SYMBOL_NAME)
    function_type = attribute(FUNCTION_TYPE_ATTR)
    arg_attrs = attribute(ARRAY_ATTR, optional=True)
    res_attrs = attribute(ARRAY_ATTR, optional=True)
    body = region()
    default_dialect = "cuda_tile"
    assembly = "custom<EntrySyntax>"

    def verify_op(self) -> None:
        check_function(self)
        check_argument_attributes(self)
        if not self.body.blocks:
            raise self.error("region #0 ('body') failed to verify constraint: region with 1 blocks")
        if tuple(a.type for a in self.body.entry.arguments) != self.function_type.value.inputs:
            raise self.error("entry block arguments must match the function type")
