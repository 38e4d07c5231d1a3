"""Passes on any dialect's IR; one module each, named after its pass."""
