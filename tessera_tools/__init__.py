"""Tessera tools: an open tile compiler from `cuda_tile` programs to PTX and cubins."""

__version__ = "0.1.0"
