"""What accesses of memory may not alias, as attributes: scopes, access groups, and types (TBAA).

#llvm.alias_scope<id = distinct[1]<>, domain = #llvm.alias_scope_domain<id = distinct[0]<>>>
#llvm.tbaa_tag<base_type = #desc, access_type = #desc, offset = 0>

LLVM LangRef, "'noalias' and 'alias.scope' Metadata", "'tbaa' Metadata", "'llvm.access.group' Metadata".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tessera_tools.dialects.llvm.records import (
    ATTRIBUTE,
    BOOL,
    INTEGER,
    STRING,
    TEXT,
    Parameter,
    Parametrized,
    Record,
    record,
)
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import DistinctAttr, StringAttr

if TYPE_CHECKING:
    from typing import Self

    from tessera_tools.ir.scanner import Scanner


class AccessGroupAttr(Record, name="llvm.access_group"):
    """A set of accesses; loops name those that are independent in different iterations."""

    id: DistinctAttr
    parameters_as: ClassVar = {"id": ATTRIBUTE}

    def verify(self) -> None:
        if not isinstance(self.id, DistinctAttr):
            raise ValueError("id of an access group must be a DistinctAttr")


class AliasScopeDomainAttr(Record, name="llvm.alias_scope_domain"):
    """A domain of alias scopes."""

    id: StringAttr | DistinctAttr
    description: StringAttr | None = None
    parameters_as: ClassVar = {"id": ATTRIBUTE, "description": STRING}

    def verify(self) -> None:
        if not isinstance(self.id, StringAttr | DistinctAttr):
            raise ValueError("id of an alias scope domain must be a StringAttr or a DistinctAttr")


class AliasScopeAttr(Record, name="llvm.alias_scope"):
    """A scope: an access in it aliases none that names it in `noalias_scopes`."""

    id: StringAttr | DistinctAttr
    domain: AliasScopeDomainAttr
    description: StringAttr | None = None
    parameters_as: ClassVar = {
        "id": ATTRIBUTE,
        "domain": record(lambda: AliasScopeDomainAttr),
        "description": STRING,
    }

    def verify(self) -> None:
        if not isinstance(self.id, StringAttr | DistinctAttr):
            raise ValueError("id of an alias scope must be a StringAttr or a DistrinctAttr")
        if not isinstance(self.domain, AliasScopeDomainAttr):
            raise ValueError(f"expected an alias scope domain as 'domain', found '#{self.domain.name}'")


class TBAARootAttr(Record, name="llvm.tbaa_root"):
    """The root of a tree of types: those of one language."""

    id: StringAttr | None = None
    parameters_as: ClassVar = {"id": STRING}

    def text(self) -> str:
        return f"#{self.name}{self.parameters_text() if self.id is not None else ''}"

    @classmethod
    def parse(cls, s: Scanner) -> Self:
        return super().parse(s) if s.peek("<") else cls()


class TBAAMemberAttr(Parametrized, name="llvm.tbaa_member"):
    """`<#desc, 4>`: a type in another one, at an offset in bytes."""

    type_desc: Attribute
    offset: int

    def verify(self) -> None:
        if not isinstance(self.type_desc, TBAARootAttr | TBAATypeDescriptorAttr):
            raise ValueError(f"expected a TBAA root or type descriptor, found '#{self.type_desc.name}'")

    def parameters_text(self) -> str:
        return f"<{self.type_desc}, {self.offset}>"

    @classmethod
    def parse(cls, s: Scanner) -> TBAAMemberAttr:
        s.expect("<")
        type_desc = s.attribute()
        s.expect(",")
        offset = s.integer()
        s.expect(">")
        return cls(type_desc, offset)


_MEMBERS = Parameter(
    lambda s: tuple(s.list("{", lambda: TBAAMemberAttr.parse(s), "}")),
    lambda members: f"{{{', '.join(member.parameters_text() for member in members)}}}",
)


class TBAATypeDescriptorAttr(Record, name="llvm.tbaa_type_desc"):
    """A type: its name, and the types that it holds."""

    id: str
    members: tuple[TBAAMemberAttr, ...]
    parameters_as: ClassVar = {"id": TEXT, "members": _MEMBERS}


class TBAATagAttr(Record, name="llvm.tbaa_tag"):
    """The type of an access: `access_type`, at `offset` in `base_type`."""

    base_type: TBAATypeDescriptorAttr
    access_type: TBAATypeDescriptorAttr
    offset: int
    constant: bool = False
    parameters_as: ClassVar = {
        "base_type": record(lambda: TBAATypeDescriptorAttr),
        "access_type": record(lambda: TBAATypeDescriptorAttr),
        "offset": INTEGER,
        "constant": BOOL,
    }

    def verify(self) -> None:
        for key in ("base_type", "access_type"):
            found = getattr(self, key)
            if not isinstance(found, TBAATypeDescriptorAttr):
                raise ValueError(f"expected a TBAA type descriptor as '{key}', found '#{found.name}'")
