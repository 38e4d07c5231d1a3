"""Plans that several passes share, below all of them: they read IR and decide, and change nothing but attributes.

layouts of accesses and products     layout_rules, accesses, dot_layouts, mma_atoms
conversions, reductions, scratch     shared_memory, reductions, scratch
the kernel: its target, its units    kernel
"""
