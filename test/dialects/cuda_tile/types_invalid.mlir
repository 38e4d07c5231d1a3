// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{all dimensions must be powers of two, got 3, 4}}
entry @e(%a: tile<3x4xf32>) {
}

// -----

// expected-error @below {{tile would exceed the maximum of 16777216 elements}}
entry @e(%a: tile<8192x4096xf32>) {
}

// -----

// expected-error @below {{all dimensions must be positive constants, got 0}}
entry @e(%a: tile<0xf32>) {
}

// -----

// expected-error @below {{expected static shape}}
entry @e(%a: tile<?xf32>) {
}

// -----

// expected-error @below {{F4E2M1FN tiles must have an even number of elements}}
entry @e(%a: tile<f4E2M1FN>) {
}

// -----

// expected-error @below {{failed to verify 'elementType': f16 or bf16 or f32 or tf32 or f64 or f8E4M3FN or f8E5M2 or f8E8M0FNU or f4E2M1FN or i1 or i8 or i16 or i32 or i64 or Pointer type or i4, but got 'index'}}
entry @e(%a: tile<index>) {
}

// -----

// expected-error @below {{failed to verify 'pointeeType'}}
entry @e(%a: tile<ptr<i4>>) {
}

// -----

// expected-error @below {{expected shape and stride to be of same rank but got shape of rank 2 and stride of rank 1}}
entry @e(%a: tensor_view<2x2xf32, strides=[1]>) {
}

// -----

// expected-error @below {{expected strictly positive integer, got 0}}
entry @e(%a: tensor_view<2xf32, strides=[0]>) {
}

// -----

// expected-error @below {{strides must not be provided for 0-d tiles}}
entry @e(%a: tensor_view<f32, strides=[]>) {
}

// -----

// expected-error @below {{0-dimension tile shape is not supported}}
entry @e(%a: partition_view<tile=(), tensor_view<f32>>) {
}

// -----

// expected-error @below {{expected tensor_view rank and tile rank to match, got tensor_view of rank 1 and tiles of rank 2}}
entry @e(%a: partition_view<tile=(2x2), tensor_view<?xf32, strides=[1]>>) {
}

// -----

// expected-error @below {{tile shape dimensions must have power of two length but got [3]}}
entry @e(%a: partition_view<tile=(3), tensor_view<?xf32, strides=[1]>>) {
}

// -----

// expected-error @below {{expected dim_map to map exactly all 2 dimensions of the tile, got 1 mappings}}
entry @e(%a: partition_view<tile=(2x2), tensor_view<?x?xf32, strides=[?,1]>, dim_map=[1]>) {
}

// -----

// expected-error @below {{target dimension 0 mapped at least twice (for tile dimensions 0 and 1)}}
entry @e(%a: partition_view<tile=(2x2), tensor_view<?x?xf32, strides=[?,1]>, dim_map=[0, 0]>) {
}

// -----

// expected-error @below {{target dimension is outside of tensor view dimensions, expected strictly less than 2, got 2}}
entry @e(%a: partition_view<tile=(2x2), tensor_view<?x?xf32, strides=[?,1]>, dim_map=[0, 2]>) {
}

// -----

// expected-error @below {{target dimension must not be negative, got -1}}
entry @e(%a: partition_view<tile=(2x2), tensor_view<?x?xf32, strides=[?,1]>, dim_map=[-1, 0]>) {
}

// -----

// expected-error @below {{padding_value nan can only be used with floating point element types, got 'i32'}}
entry @e(%a: partition_view<tile=(2), padding_value = nan, tensor_view<?xi32, strides=[1]>>) {
}

// -----

// expected-error @below {{invalid padding_value attribute specification. Got "one" but expect one of: zero, neg_zero, nan, pos_inf, neg_inf}}
entry @e(%a: partition_view<tile=(2), padding_value = one, tensor_view<?xi32, strides=[1]>>) {
}

// -----

// expected-error @below {{expected 'tensor_view' type, but got '!cuda_tile.tile<2xf32>'}}
entry @e(%a: partition_view<tile=(2), tile<2xf32>>) {
}

// -----

// expected-error @below {{expected either 64-bit integer or question mark, found 'x'}}
entry @e(%a: tensor_view<4xf32, strides=[x]>) {
}

// -----

// expected-error @below {{expected token after element type in 0-d tensor_view to be '>'}}
entry @e(%a: tensor_view<f32, 4>) {
}

// -----

// expected-error @below {{expected a ptr_attr, found '#cuda_tile.div_by<4>'}}
entry @e(%a: tile<ptr<f32, #cuda_tile.div_by<4>>>) {
}

// -----

// expected-error @below {{dimensions must have strictly positive constant sizes but got [0]}}
entry @e(%a: tensor_view<0xf32, strides=[1]>) {
}

// -----

// expected-error @below {{tile shape dimensions must have positive length but got [0]}}
entry @e(%a: partition_view<tile=(0), tensor_view<?xf32, strides=[1]>>) {
}

// -----

// expected-error @below {{tile dimension 0 exceeds i32 limitations (got 4294967296, expected strictly positive and less than or equal to 2147483647)}}
entry @e(%a: partition_view<tile=(4294967296), tensor_view<?xf32, strides=[1]>>) {
}

// -----

// expected-error @below {{expected dim_map to map exactly all 1 dimensions of the tile, got 0 mappings}}
entry @e(%a: partition_view<tile=(4), tensor_view<?xf32, strides=[1]>, dim_map=[]>) {
}
