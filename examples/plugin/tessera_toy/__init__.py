"""An example of a plugin for Tessera tools."""

from tessera_tools.passes.plugins import Plugin

PLUGIN = Plugin(
    dialects={"toy": "tessera_toy.dialect"},
    passes={"toy-expand": ("tessera_toy.expand:ToyExpand", "replace toy operations by arith")},
)
