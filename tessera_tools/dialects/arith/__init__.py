"""The `arith` dialect: integer and floating-point arithmetic on scalars, vectors and tensors, elementwise.

    attributes.py   fast-math and overflow flags, rounding modes, comparison predicates
    constants.py    constant attributes ⇄ element bits
    constant_op.py  the constant op
    numbers.py      what each operation computes on the bits of one element
    rule_text.py  rules.py  identities.py   the language of identities, how they apply, and those of the dialect
    integers.py  floats.py  casts.py  select.py   the ops, with the folders of constants
    canonicalize.py the patterns that are no identities

Spelling, attribute names and numbers are those of upstream MLIR 22 (mlir/Dialect/Arith).
"""

from __future__ import annotations

from tessera_tools.dialects.arith import casts, constant_op, floats, integers, select
from tessera_tools.dialects.arith.attributes import (
    FAST_MATH,
    FastMathFlagsAttr,
    IntegerOverflowFlagsAttr,
    fastmath_field,
)
from tessera_tools.dialects.arith.casts import (
    Bitcast,
    ExtF,
    ExtSI,
    ExtUI,
    FPToSI,
    FPToUI,
    IndexCast,
    IndexCastUI,
    ScalingExtF,
    ScalingTruncF,
    SIToFP,
    TruncF,
    TruncI,
    UIToFP,
)
from tessera_tools.dialects.arith.constant_op import Constant, make_constant
from tessera_tools.dialects.arith.floats import (
    AddF,
    CmpF,
    DivF,
    MaximumF,
    MaxNumF,
    MinimumF,
    MinNumF,
    MulF,
    NegF,
    RemF,
    SubF,
)
from tessera_tools.dialects.arith.identities import RULES
from tessera_tools.dialects.arith.integers import (
    AddI,
    AddUIExtended,
    AndI,
    CeilDivSI,
    CeilDivUI,
    CmpI,
    DivSI,
    DivUI,
    FloorDivSI,
    MaxSI,
    MaxUI,
    MinSI,
    MinUI,
    MulI,
    MulSIExtended,
    MulUIExtended,
    OrI,
    RemSI,
    RemUI,
    ShLI,
    ShRSI,
    ShRUI,
    SubI,
    XOrI,
)
from tessera_tools.dialects.arith.select import Select
from tessera_tools.opdef import Dialect, by_word, ops_of

DIALECT = Dialect(
    "arith",
    "integer and floating-point arithmetic",
    ops_of(constant_op, select, integers, floats, casts),
    attributes=by_word(FastMathFlagsAttr, IntegerOverflowFlagsAttr),
    make_constant=make_constant,
    rules=RULES,
    canonicalizers="tessera_tools.dialects.arith.canonicalize",
    is_complete=True,
)


__all__ = [
    "DIALECT", "FAST_MATH", "AddF", "AddI", "AddUIExtended", "AndI", "Bitcast", "CeilDivSI", "CeilDivUI", "CmpF",
    "CmpI", "Constant", "DivF", "DivSI", "DivUI", "ExtF", "ExtSI", "ExtUI", "FPToSI", "FPToUI", "FastMathFlagsAttr",
    "FloorDivSI", "IndexCast", "IndexCastUI", "IntegerOverflowFlagsAttr", "MaxNumF", "MaxSI", "MaxUI", "MaximumF",
    "MinNumF", "MinSI", "MinUI", "MinimumF", "MulF", "MulI", "MulSIExtended", "MulUIExtended", "NegF", "OrI", "RemF",
    "RemSI", "RemUI", "SIToFP", "ScalingExtF", "ScalingTruncF", "Select", "ShLI", "ShRSI", "ShRUI", "SubF", "SubI",
    "TruncF", "TruncI", "UIToFP", "XOrI", "fastmath_field", "make_constant",
]  # fmt: skip
