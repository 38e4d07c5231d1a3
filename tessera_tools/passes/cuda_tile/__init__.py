"""Passes on the public dialect, `cuda_tile`."""
