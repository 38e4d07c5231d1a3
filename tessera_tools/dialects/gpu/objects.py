"""Compiled modules: `gpu.binary` and the objects that it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    OpaqueAttr,
    StringAttr,
    symbol_text,
)
from tessera_tools.opdef import (
    ANY_ATTR,
    SYMBOL,
    SYMBOL_NAME,
    AttrKind,
    CustomDirective,
    Op,
    attribute,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.ir.scanner import Scanner
    from tessera_tools.opdef.directive import Node, OpState

_FORMATS = ("offload", "assembly", "bin", "fatbin")


def is_target(attribute: Attribute) -> bool:
    """True for the target of a compilation, such as `#nvvm.target`; those of unknown dialects may be targets."""
    return hasattr(attribute, "verify_target") or isinstance(attribute, OpaqueAttr)


class ObjectAttr(Attribute, name="gpu.object"):
    """`#gpu.object<#nvvm.target, bin = "…">`: a module compiled for a target, as a fat binary if no format is given."""

    target: Attribute
    format: str
    data: StringAttr
    properties: DictionaryAttr | None = None
    kernels: Attribute | None = None

    def verify(self) -> None:
        if not is_target(self.target):
            raise ValueError("the target attribute must implement or promise the `gpu::TargetAttrInterface`")
        if self.format not in _FORMATS:
            raise ValueError(f"expected keyword for GPU object format, found '{self.format}'")

    def text(self) -> str:
        parts = [str(self.target)]
        parts += [f"properties = {self.properties}"] if self.properties is not None else []
        parts += [f"kernels = {self.kernels}"] if self.kernels is not None else []
        parts.append(f"{'' if self.format == 'fatbin' else self.format + ' = '}{self.data}")
        return f"#gpu.object<{', '.join(parts)}>"

    @classmethod
    def parse(cls, s: Scanner) -> ObjectAttr:
        s.expect("<")
        target = s.attribute()
        s.expect(",")
        properties: DictionaryAttr | None = None
        kernels: Attribute | None = None
        while True:
            if s.peek('"'):
                form = "fatbin"
                break
            form = s.word()
            s.expect("=")
            if form == "properties":
                given = s.attribute()
                if not isinstance(given, DictionaryAttr):
                    raise s.error(f"expected a dictionary as properties, found '{given}'")
                properties = given
            elif form == "kernels":
                kernels = s.attribute()
            else:
                break
            s.expect(",")
        data = StringAttr(s.string())
        s.expect(">")
        return cls(target, form, data, properties, kernels)


class SelectObjectAttr(Attribute, name="gpu.select_object"):
    """`#gpu.select_object<1>`: which object of a binary is embedded, by number or by target; the first by default."""

    target: Attribute | None = None

    def verify(self) -> None:
        if isinstance(self.target, IntegerAttr):
            if self.target.value < 0:
                raise ValueError("the object index must be positive")
        elif self.target is not None and not is_target(self.target):
            raise ValueError("the target attribute must be a GPU Target attribute")

    def text(self) -> str:
        return "#gpu.select_object" + (f"<{self.target}>" if self.target is not None else "")

    @classmethod
    def parse(cls, s: Scanner) -> SelectObjectAttr:
        if not s.optional("<"):
            return cls()
        target = s.attribute()
        s.expect(">")
        return cls(target)


_OBJECTS: AttrKind[ArrayAttr] = AttrKind(
    "an array of GPU object attributes with at least 1 elements",
    lambda a: isinstance(a, ArrayAttr) and len(a) > 0 and all(isinstance(e, ObjectAttr) for e in a),
)


class BinarySyntax(CustomDirective, name="Binary"):
    """`@name <handler> {…} [objects]`"""

    grammar = """custom: SYMBOL ["<" ATTRIBUTE ">"] attr_dict custom_objects
custom_objects: "[" ATTRIBUTE ("," ATTRIBUTE)* "]" -> some | "[" "]" -> none
"""

    def read(self, state: OpState, node: Node) -> None:
        symbol, handler, attributes, (_, objects) = node
        state.attribute("sym_name", StringAttr(symbol[0][0]))
        state.attribute("offloadingHandler", SelectObjectAttr() if handler is None else handler)
        for key, value in attributes.items():
            state.attribute(key, value)
        state.attribute("objects", ArrayAttr(tuple(objects)))

    def write(self, p: Printer, op: Binary) -> None:
        p.write(f" {symbol_text(op.sym_name.value)}")
        handler = op.offloading_handler
        if handler is not None and handler is not SelectObjectAttr():
            p.write(f" <{p.attribute(handler)}>")
        p.attr_dict(op, ("sym_name", "offloadingHandler", "objects"))
        p.write(f" {p.attribute(op.objects)}")


class Binary(Op, name="gpu.binary", traits=(SYMBOL,)):
    """A module that is compiled, for one or more targets."""

    sym_name = attribute(SYMBOL_NAME)
    offloading_handler = attribute(ANY_ATTR, optional=True, key="offloadingHandler")
    objects = attribute(_OBJECTS)
    assembly = "custom<Binary>"

    def verify_op(self) -> None:
        handler = self.offloading_handler
        if handler is not None and not isinstance(handler, SelectObjectAttr | OpaqueAttr):
            raise self.error(
                "attribute 'offloadingHandler' failed to satisfy constraint: any attribute with the "
                "`OffloadingTranslationAttrTrait` trait."
            )
