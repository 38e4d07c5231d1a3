"""Passes: the table of all of them, pipelines as text and data, the manager, and one module per pass."""
