"""Static analyses of programs."""
