"""Passes on `nv_tileas`, and the conversion that makes it."""
