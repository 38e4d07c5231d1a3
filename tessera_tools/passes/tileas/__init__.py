"""Passes on `nv_tileas`, and the conversion to it."""
