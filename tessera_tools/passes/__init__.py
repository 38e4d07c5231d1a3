"""Passes: the pass table, pipelines as text and data, the manager, and one module per pass."""
