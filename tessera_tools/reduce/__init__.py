"""Reduction of inputs: the smallest one that still fails (docs/reduce.md)."""
