"""The `irdl` dialect: definitions of dialects, which `--irdl-file` loads (`loading.py`)."""

from __future__ import annotations

from tessera_tools.dialects.irdl import ops
from tessera_tools.dialects.irdl.attributes import (
    AttributeType,
    RegionType,
    VariadicityArrayAttr,
    VariadicityAttr,
)
from tessera_tools.opdef import Dialect, by_word, ops_of

DIALECT = Dialect(
    "irdl",
    "definitions of dialects",
    ops_of(ops),
    types=by_word(AttributeType, RegionType),
    attributes=by_word(VariadicityAttr, VariadicityArrayAttr),
    is_complete=True,
)
