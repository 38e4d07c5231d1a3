"""Passes on the `tile` dialect, and its conversion to nv_tileas."""
