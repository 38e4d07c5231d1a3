"""c = a + b over f32 vectors, 1024 elements per tile block: ../vector_add.mlir."""

from tessera_tools.dsl import array, f32, kernel, load, make_partition_view, program_id, store


@kernel
def vector_add(a: array[f32], b: array[f32], c: array[f32]):
    # Vectors, each cut into tiles of 1024 elements; the last tile may stick out.
    a_tiles = make_partition_view(a, tile=1024)
    b_tiles = make_partition_view(b, tile=1024)
    c_tiles = make_partition_view(c, tile=1024)
    i = program_id(0)
    store(c_tiles, i, load(a_tiles, i) + load(b_tiles, i))
