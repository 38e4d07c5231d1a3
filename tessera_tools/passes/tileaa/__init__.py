"""From `cuda_tile` to `nv_tileaa`."""
