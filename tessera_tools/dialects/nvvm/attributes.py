"""The enumerations and shapes of the nvvm dialect (upstream MLIR 22, NVVMOps.td)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tessera_tools.dialects.llvm.records import INTEGER, Record
from tessera_tools.ir.attributes import Attribute
from tessera_tools.opdef import EnumAttr

if TYPE_CHECKING:
    from tessera_tools.ir.scanner import Scanner


class _Bare(EnumAttr):
    """An enumeration that is printed without angle brackets in a format; `#nvvm<shfl_kind bfly>` in full."""

    def text(self) -> str:
        return f"#nvvm<{self.name.split('.', 1)[1]} {self.value}>"

    @classmethod
    def parse_inside(cls, scanner: Scanner) -> Attribute:
        """Parses the part after the keyword in `#nvvm<shfl_kind bfly>`."""
        return cls(scanner.word())


class ShflKindAttr(_Bare, name="nvvm.shfl_kind"):
    """How shfl.sync selects the source lane."""

    cases = (
        "bfly",
        "up",
        "down",
        "idx",
    )


class VoteSyncKindAttr(_Bare, name="nvvm.vote_sync_kind"):
    """The kind of vote.sync."""

    cases = (
        "any",
        "all",
        "ballot",
        "uni",
    )


class MatchSyncKindAttr(_Bare, name="nvvm.match_sync_kind"):
    """The kind of match.sync."""

    cases = (
        "any",
        "all",
    )


class ReduxKindAttr(_Bare, name="nvvm.redux_kind"):
    """The operation of redux.sync."""

    cases = (
        "none",
        "add",
        "and",
        "max",
        "min",
        "or",
        "umax",
        "umin",
        "xor",
        "fmin",
        "fmax",
    )


class LoadCacheModifierAttr(_Bare, name="nvvm.load_cache_modifier"):
    """The cache operator of a load."""

    cases = (
        "ca",
        "cg",
        "cs",
        "lu",
        "cv",
    )


class SetMaxRegisterActionAttr(_Bare, name="nvvm.action"):
    """The direction of setmaxregister."""

    cases = (
        "increase",
        "decrease",
    )


class GridDepActionAttr(_Bare, name="nvvm.grid_dep_action"):
    """The action of griddepcontrol."""

    cases = (
        "wait",
        "launch_dependents",
    )


class PrefetchCacheLevelAttr(_Bare, name="nvvm.prefetch_cache_level"):
    """A level of cache."""

    cases = (
        "L1",
        "L2",
    )


class CacheEvictionPriorityAttr(_Bare, name="nvvm.cache_eviction_priority"):
    """The eviction priority of a cache line."""

    cases = (
        "evict_normal",
        "evict_first",
        "evict_last",
        "evict_unchanged",
        "no_allocate",
    )


class ReductionAttr(EnumAttr, name="nvvm.reduction"):
    """The reduction of a barrier."""

    cases = (
        "popc",
        "and",
        "or",
    )


class MemScopeAttr(EnumAttr, name="nvvm.mem_scope"):
    """Among which threads an operation orders."""

    cases = (
        "cta",
        "cluster",
        "gpu",
        "sys",
    )


class MemOrderAttr(EnumAttr, name="nvvm.mem_order"):
    """The memory order of an operation."""

    cases = (
        "weak",
        "relaxed",
        "acquire",
        "release",
        "acq_rel",
        "sc",
        "mmio",
        "volatile",
    )


class ProxyKindAttr(EnumAttr, name="nvvm.proxy_kind"):
    """A proxy: a path to memory."""

    cases = (
        "alias",
        "async",
        "async.global",
        "async.shared",
        "tensormap",
        "generic",
    )


class SharedSpaceAttr(EnumAttr, name="nvvm.shared_space"):
    """A part of shared memory."""

    cases = (
        "cta",
        "cluster",
    )


class MMALayoutAttr(EnumAttr, name="nvvm.mma_layout"):
    """The order of a matrix."""

    cases = (
        "row",
        "col",
    )


class MMATypeAttr(EnumAttr, name="nvvm.mma_type"):
    """The element type of an mma operand, in PTX's names."""

    cases = (
        "f16",
        "f32",
        "tf32",
        "bf16",
        "s8",
        "u8",
        "s32",
        "s4",
        "u4",
        "b1",
        "f64",
        "e4m3",
        "e5m2",
        "e3m2",
        "e2m3",
        "e2m1",
    )


class MMAB1OpAttr(EnumAttr, name="nvvm.mma_b1op"):
    """The operation of a one-bit mma."""

    cases = (
        "none",
        "xor_popc",
        "and_popc",
    )


class MMAIntOverflowAttr(EnumAttr, name="nvvm.mma_int_overflow"):
    """The overflow behavior of an integer mma."""

    cases = (
        "wrapped",
        "satfinite",
    )


class LdStMatrixEltTypeAttr(EnumAttr, name="nvvm.ld_st_matrix_elt_type"):
    """The element type of ldmatrix and stmatrix."""

    cases = (
        "b16",
        "b8",
        "b8x16.b6x16_p32",
        "b8x16.b4x16_p64",
    )


class TMALoadModeAttr(EnumAttr, name="nvvm.tma_load_mode"):
    """How a tensor is read."""

    cases = (
        "tile",
        "im2col",
        "im2col_w",
        "im2col_w_128",
        "tile_gather4",
    )


class TMAStoreModeAttr(EnumAttr, name="nvvm.tma_store_mode"):
    """How a tensor is written."""

    cases = (
        "tile",
        "im2col",
        "tile_scatter4",
    )


class TMAReduxKindAttr(EnumAttr, name="nvvm.tma_redux_kind"):
    """The operation of a reducing store."""

    cases = (
        "add",
        "min",
        "max",
        "inc",
        "dec",
        "and",
        "or",
        "xor",
    )


class CTAGroupAttr(EnumAttr, name="nvvm.cta_group"):
    """The number of CTAs in a group."""

    cases = (
        "cta_1",
        "cta_2",
    )


class WGMMATypeAttr(EnumAttr, name="nvvm.wgmma_type"):
    """The element type of a wgmma operand."""

    cases = (
        "f16",
        "tf32",
        "u8",
        "s8",
        "b1",
        "bf16",
        "e4m3",
        "e5m2",
        "f32",
        "s32",
    )


class WGMMAScaleInAttr(EnumAttr, name="nvvm.wgmma_scale_in"):
    """The sign of a wgmma operand."""

    cases = (
        "one",
        "neg",
    )


class WGMMAScaleOutAttr(EnumAttr, name="nvvm.wgmma_scale_out"):
    """Whether wgmma adds to the accumulator."""

    cases = (
        "zero",
        "one",
    )


class FPRoundingModeAttr(EnumAttr, name="nvvm.fp_rnd_mode"):
    """A rounding mode."""

    cases = (
        "none",
        "rn",
        "rm",
        "rp",
        "rz",
        "rna",
        "rs",
    )


class SaturationModeAttr(EnumAttr, name="nvvm.sat_mode"):
    """A saturation mode."""

    cases = (
        "none",
        "satfinite",
    )


class PermuteModeAttr(EnumAttr, name="nvvm.permute_mode"):
    """A mode of prmt."""

    cases = (
        "default",
        "f4e",
        "b4e",
        "rc8",
        "ecl",
        "ecr",
        "rc16",
    )


class ClusterLaunchControlQueryTypeAttr(_Bare, name="nvvm.cluster_launch_control_query_type"):
    """What is asked of an answer of cluster launch control."""

    cases = (
        "is_canceled",
        "get_first_cta_id_x",
        "get_first_cta_id_y",
        "get_first_cta_id_z",
    )


class Tcgen05FenceAttr(EnumAttr, name="nvvm.tcgen05_fence"):
    """The side of a tcgen05 fence."""

    cases = (
        "before",
        "after",
    )


class Tcgen05WaitAttr(EnumAttr, name="nvvm.tcgen05_wait"):
    """The kind of operations that tcgen05.wait waits for."""

    cases = (
        "load",
        "store",
    )


class Tcgen05CpShapeAttr(EnumAttr, name="nvvm.tcgen05_cp_shape"):
    """Lanes and bits of tcgen05.cp."""

    cases = (
        "shape_128x256b",
        "shape_4x256b",
        "shape_128x128b",
        "shape_64x128b",
        "shape_32x128b",
    )


class Tcgen05CpMulticastAttr(EnumAttr, name="nvvm.tcgen05_cp_multicast"):
    """The warps that get each part of tcgen05.cp."""

    cases = (
        "none",
        "warpx2_02_13",
        "warpx2_01_23",
        "warpx4",
    )


class Tcgen05CpSrcFormatAttr(EnumAttr, name="nvvm.tcgen05_cp_src_fmt"):
    """Packed elements that tcgen05.cp unpacks."""

    cases = (
        "b6x16_p32",
        "b4x16_p64",
    )


class Tcgen05LdStShapeAttr(EnumAttr, name="nvvm.tcgen05_ldst_shape"):
    """Lanes and bits of tcgen05.ld and st."""

    cases = (
        "shape_16x64b",
        "shape_16x128b",
        "shape_16x256b",
        "shape_32x32b",
        "shape_16x32bx2",
    )


class Tcgen05MMAKindAttr(EnumAttr, name="nvvm.tcgen05_mma_kind"):
    """The elements of tcgen05.mma."""

    cases = (
        "f16",
        "tf32",
        "f8f6f4",
        "i8",
    )


class Tcgen05MMACollectorOpAttr(EnumAttr, name="nvvm.tcgen05_mma_collectorop"):
    """What tcgen05.mma does with the collector buffer."""

    cases = (
        "discard",
        "lastuse",
        "fill",
        "use",
    )


class Tcgen05MMACollectorBBufferAttr(EnumAttr, name="nvvm.tcgen05_mma_collectorb"):
    """The collector buffer of B."""

    cases = (
        "b0",
        "b1",
        "b2",
        "b3",
    )


class BlockScaleKindAttr(EnumAttr, name="nvvm.block_scale_kind"):
    """The elements of a product with block scales."""

    cases = (
        "mxf8f6f4",
        "mxf4",
        "mxf4nvf4",
    )


class BlockScaleFormatAttr(EnumAttr, name="nvvm.block_scale_format"):
    """The type of the scales."""

    cases = ("ue8m0", "ue4m3")


class ScaleVecSizeAttr(EnumAttr, name="nvvm.scale_vec_size"):
    """How many scales a row or column has."""

    cases = ("x1", "x2", "x4")


class MMAKindAttr(EnumAttr, name="nvvm.mma_kind"):
    """The elements of a product: floats of 8, 6 and 4 bits."""

    cases = ("f8f6f4",)


class Tcgen05MMABlockScaleAttr(EnumAttr, name="nvvm.tcgen05_mma_block_scale"):
    """The size of the blocks."""

    cases = (
        "default",
        "block16",
        "block32",
    )


class MMAShapeAttr(Record, name="nvvm.shape"):
    """`#nvvm.shape<m = 16, n = 8, k = 16>`."""

    m: int
    n: int
    k: int
    parameters_as: ClassVar = {"m": INTEGER, "n": INTEGER, "k": INTEGER}


class LdStMatrixShapeAttr(Record, name="nvvm.ld_st_matrix_shape"):
    """`#nvvm.ld_st_matrix_shape<m = 8, n = 8>`."""

    m: int
    n: int
    parameters_as: ClassVar = {"m": INTEGER, "n": INTEGER}
