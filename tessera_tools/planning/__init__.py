"""Plans that several passes share. Planning reads the IR and changes only attributes. It does not import passes.

layouts of accesses and products     layout_rules, accesses, dot_layouts, mma_atoms
conversions, reductions, scratch     shared_memory, reductions, scratch
the kernel: its target, its units    kernel
"""
