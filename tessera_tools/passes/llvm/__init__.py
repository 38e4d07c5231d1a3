"""Conversions to the llvm and nvvm dialects.

convert_nv_tile_func_to_llvm    function boundary: nv_tileaa.func → func.func with kernel attributes
convert_tileas_to_llvm          bodies: one tile value → its per-thread values
    emitter      builds llvm ops; shares and hoists pure ones
    tiles        per-thread values of a tile, memory views, buffers
    control      structured control flow → blocks
    elementwise  arith and math, scalar and per element
    casts        between number formats: LLVM's, hardware_casts, or bits in float_formats
    constants, packing    tiles of different elements; tiles as their bytes
    global_memory, shared_memory, layouts, dot    the nv_tileas families
"""
