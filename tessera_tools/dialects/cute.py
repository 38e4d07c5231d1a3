"""The `cute` dialect: copy atoms, the witnesses of how a tiled access is done.

A copy atom names one hardware primitive and its element type: `#cute.copy_atom<sm80_cp_async_128_f16>`.  It is put on
an access when the access is made, and the lowering emits exactly what it says.
"""

from __future__ import annotations

import re
from typing import Any

from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.types import FLOAT_WIDTHS
from tessera_tools.opdef import Dialect, by_word

_COPY_ATOM = re.compile(
    r"sm(\d+)_(ldg|stg|cp_async|ldmatrix|ldmatrix_trans|lds|sts)_(?:(\d+)|x([124]))_(\w+)"
    r"|sm(\d+)_(tma_load|tma_store)_([1-5])d_(\w+)"
)


class CopyAtomAttr(Attribute, name="cute.copy_atom"):
    """`#cute.copy_atom<sm80_ldg_128_f16>`: the architecture that introduced the primitive, the primitive, its width in
    bits (or matrices for ldmatrix, dimensions for TMA), the element type."""

    spelling: str

    def verify(self) -> None:
        match = _COPY_ATOM.fullmatch(self.spelling)
        if match is None:
            raise ValueError(
                f"unknown copy atom '{self.spelling}'; expected e.g. sm80_ldg_128_f16, sm80_cp_async_128_f16, "
                "sm75_ldmatrix_x4_f16 or sm90_tma_load_2d_f16"
            )
        element = match.group(5) or match.group(9)
        if element not in FLOAT_WIDTHS and not re.fullmatch(r"i\d+", element):
            raise ValueError(f"unknown element type '{element}' in copy atom '{self.spelling}'")

    @classmethod
    def make(cls, since: int, primitive: str, width: int | str, element: Any) -> CopyAtomAttr:
        """An atom from its parts."""
        return cls(f"sm{since}_{primitive}_{width}_{element}")

    def _match(self) -> re.Match[str]:
        match = _COPY_ATOM.fullmatch(self.spelling)
        assert match is not None
        return match

    @property
    def primitive(self) -> str:
        """`ldg`, `stg`, `cp_async`, `ldmatrix`, `ldmatrix_trans`, `lds`, `sts`, `tma_load` or `tma_store`."""
        return self._match().group(2) or self._match().group(7)

    @property
    def bits(self) -> int:
        """The width of one access in bits; 0 where the primitive has none."""
        return int(self._match().group(3) or 0)

    @classmethod
    def parse(cls, s: Any) -> CopyAtomAttr:
        s.expect("<")
        spelling = s.word()
        s.expect(">")
        return cls(spelling)

    def text(self) -> str:
        return f"#cute.copy_atom<{self.spelling}>"


DIALECT = Dialect("cute", "copy atoms", {}, attributes=by_word(CopyAtomAttr))
