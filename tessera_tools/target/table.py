"""The table of GPU architectures. Passes and emitters get all properties of a target from it.

    "sm_90" ──lookup()──▶ Target(cpu="sm_90a", max_shared_per_block=232448, …).has(Feature.WGMMA)

Sources: the "Technical Specifications per Compute Capability" tables of the CUDA C++ Programming Guide
(13.x), checked against `cuda_occupancy.h` of the CUDA runtime; the "Target ISA Notes" of each
instruction in the PTX ISA for the features; the PTX ISA's release history for the minimum versions.
The shared memory of sm_107 is that of `include/cutlass/arch/arch.h` of CUTLASS; its features are those that ptxas
13.5 assembles.
"""

from __future__ import annotations

from enum import Enum

from tessera_tools.records import dataclass, replace

__all__ = ["Feature", "Target", "UnknownTargetError", "lookup", "targets"]

KIB = 1024


class Feature(Enum):
    """A hardware feature that a lowering may ask for; the value is the PTX instruction family."""

    CP_ASYNC = "cp.async"
    LDMATRIX = "ldmatrix"
    STMATRIX = "stmatrix"
    MMA_SYNC = "mma.sync"
    MMA_SYNC_F64 = "mma.sync.m16n8k16 with .f64"
    MMA_SYNC_FP8 = "mma.sync with .e4m3/.e5m2"
    MMA_SYNC_BLOCK_SCALE = "mma.sync with .block_scale"
    WGMMA = "wgmma.mma_async"
    TCGEN05 = "tcgen05"
    TCGEN05_INT8 = "tcgen05.mma with .kind::i8"
    TCGEN05_LD_RED = "tcgen05.ld.red"
    MBARRIER = "mbarrier"
    MBARRIER_TRY_WAIT = "mbarrier.try_wait"
    TMA = "cp.async.bulk.tensor"
    TMA_MULTICAST = "cp.async.bulk.tensor with .multicast::cluster"
    CLUSTER = "cluster launch"
    ELECT_SYNC = "elect.sync"
    REDUX_SYNC = "redux.sync"
    SETMAXNREG = "setmaxnreg"
    GRIDDEPCONTROL = "griddepcontrol"
    ATOMIC_ADD_BF16 = "atom.add.noftz.bf16"
    MULTIMEM = "multimem"
    CVT_FP8 = "cvt with .e4m3x2/.e5m2x2"
    CVT_RN_TF32 = "cvt.rn.tf32"
    CVT_FP4 = "cvt with .e2m1x2/.ue8m0x2"
    PACKED_F32X2 = "f32x2 arithmetic"
    LAUNCH_CONTROL = "clusterlaunchcontrol"
    GLOBAL_256BIT = "256-bit global loads and stores"
    KNOB_BUSY_XU64 = "the knob SchedResBusyXU64 of OCG"


class UnknownTargetError(ValueError):
    """The user named a GPU that is not in the table. `hint` suggests the closest name."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Target:
    """One GPU architecture. Sizes are bytes, registers are 32 bits wide."""

    name: str
    """The name without the architecture suffix: `sm_90`."""
    cpu: str
    """The PTX `.target`, and LLVM's processor name: `sm_90a`."""
    compute_capability: int
    """Major times ten plus minor: 90 for 9.0, 103 for 10.3."""
    min_ptx: int
    """The first PTX ISA version that supports `cpu`, as major times ten plus minor: 80 for 8.0."""
    features: frozenset[Feature]
    max_shared_per_block: int
    """The maximum that one block may use, static and dynamic, after opting in."""
    max_shared_per_sm: int
    max_threads_per_sm: int
    max_blocks_per_sm: int
    max_cluster_size: int
    """Blocks in the largest portable cluster; 1 without clusters."""
    tmem_columns: int = 0
    """Columns of tensor memory, each 128 lanes of 32 bits; 0 without tcgen05."""
    stand_in: str | None = None
    """An older processor of the family, for which an LLVM that does not know `cpu` generates the code."""

    # The same on every architecture of this table.
    reserved_shared_per_block: int = 1 * KIB
    """Shared memory of the SM that the system reserves for each resident block."""
    shared_granularity: int = 128
    registers_per_sm: int = 64 * KIB
    registers_per_block: int = 64 * KIB
    max_registers_per_thread: int = 255
    register_granularity: int = 256
    """Registers are allocated to a warp in multiples of this."""
    warp_granularity: int = 4
    """The warps of a block are distributed over the four partitions of an SM."""
    max_threads_per_block: int = 1024
    warp_size: int = 32
    max_static_shared: int = 48 * KIB
    """The maximum of static shared memory that ptxas accepts. More must be dynamic (opt-in)."""
    shared_banks: int = 32

    @property
    def family_or_name(self) -> str:
        """What the passes are told: `sm_100f`, which has not all features of sm_100; otherwise the name."""
        return self.cpu if self.cpu.endswith("f") else self.name

    @property
    def ptx_target(self) -> str:
        """The operand of the PTX `.target` directive and of `ptxas -arch`."""
        return self.cpu

    @property
    def max_warps_per_sm(self) -> int:
        return self.max_threads_per_sm // self.warp_size

    def has(self, feature: Feature) -> bool:
        return feature in self.features

    @property
    def multiplies_asynchronously(self) -> bool:
        """Whether it has wgmma or tcgen05.mma."""
        return self.has(Feature.WGMMA) or self.has(Feature.TCGEN05)


_F = Feature
_AMPERE = frozenset({_F.CP_ASYNC, _F.LDMATRIX, _F.MMA_SYNC, _F.MBARRIER, _F.REDUX_SYNC})
_ADA = _AMPERE | {_F.MMA_SYNC_FP8, _F.CVT_FP8}
# Features of every architecture from 9.0 on, including the small Blackwells (12.x).
_FROM_HOPPER = _ADA | {
    _F.STMATRIX,
    _F.MMA_SYNC_F64,
    _F.MBARRIER_TRY_WAIT,
    _F.TMA,
    _F.CLUSTER,
    _F.ELECT_SYNC,
    _F.SETMAXNREG,
    _F.GRIDDEPCONTROL,
    _F.ATOMIC_ADD_BF16,
    _F.MULTIMEM,
    _F.CVT_RN_TF32,
}
_HOPPER = _FROM_HOPPER | {_F.WGMMA, _F.TMA_MULTICAST}
_FROM_BLACKWELL = _FROM_HOPPER | {_F.PACKED_F32X2, _F.GLOBAL_256BIT, _F.CVT_FP4, _F.LAUNCH_CONTROL}
_BLACKWELL_DATACENTER = _FROM_BLACKWELL | {_F.TCGEN05, _F.TMA_MULTICAST, _F.KNOB_BUSY_XU64}
_RUBIN = _BLACKWELL_DATACENTER - {_F.KNOB_BUSY_XU64}
_BLACKWELL_CONSUMER = _FROM_BLACKWELL | {_F.MMA_SYNC_BLOCK_SCALE}


def _target(
    number: int,
    suffix: str,
    min_ptx: int,
    features: frozenset[Feature],
    shared_per_sm_kib: int,
    threads_per_sm: int,
    blocks_per_sm: int,
    stand_in: int | None = None,
) -> Target:
    reserved_kib = 1
    return Target(
        name=f"sm_{number}",
        cpu=f"sm_{number}{suffix}",
        compute_capability=number,
        min_ptx=min_ptx,
        features=features,
        max_shared_per_block=(shared_per_sm_kib - reserved_kib) * KIB,
        max_shared_per_sm=shared_per_sm_kib * KIB,
        max_threads_per_sm=threads_per_sm,
        max_blocks_per_sm=blocks_per_sm,
        max_cluster_size=8 if Feature.CLUSTER in features else 1,
        tmem_columns=512 if Feature.TCGEN05 in features else 0,
        stand_in=f"sm_{stand_in}{suffix}" if stand_in else None,
    )


_TABLE: dict[str, Target] = {
    target.name: target
    for target in (
        #       cc  suffix  PTX  features              KiB/SM  threads/SM  blocks/SM
        _target(80, "", 70, _AMPERE, 164, 2048, 32),
        _target(86, "", 71, _AMPERE, 100, 1536, 16),
        _target(87, "", 74, _AMPERE, 164, 1536, 16),
        _target(88, "", 90, _AMPERE, 100, 1536, 16),
        _target(89, "", 78, _ADA, 100, 1536, 24),
        _target(90, "a", 80, _HOPPER, 228, 2048, 32),
        _target(100, "a", 86, _BLACKWELL_DATACENTER | {_F.TCGEN05_INT8}, 228, 2048, 32),
        _target(103, "a", 88, _BLACKWELL_DATACENTER | {_F.TCGEN05_LD_RED}, 228, 2048, 32),
        _target(107, "a", 94, _RUBIN | {_F.TCGEN05_LD_RED}, 328, 2048, 32, stand_in=103),
        _target(110, "a", 90, _BLACKWELL_DATACENTER | {_F.TCGEN05_INT8, _F.TCGEN05_LD_RED}, 228, 1536, 24),
        _target(120, "a", 87, _BLACKWELL_CONSUMER, 100, 1536, 24),
        _target(121, "a", 88, _BLACKWELL_CONSUMER, 100, 1536, 24),
    )
}


_PRODUCTS = {
    name: architecture
    for architecture, names in {
        "sm_80": "a100 a30",
        "sm_86": "a2 a10 a16 a40 rtxa2000 rtxa4000 rtxa4500 rtxa5000 rtxa5500 rtxa6000 rtx3050 rtx3060 rtx3060ti "
        "rtx3070 rtx3070ti rtx3080 rtx3080ti rtx3090 rtx3090ti",
        "sm_87": "jetsonorin orin agxorin jetsonagxorin",
        "sm_89": "l4 l40 l40s rtx2000ada rtx4000ada rtx4500ada rtx5000ada rtx6000ada rtx4050 rtx4060 rtx4060ti "
        "rtx4070 rtx4070super rtx4070ti rtx4070tisuper rtx4080 rtx4080super rtx4090 rtx4090d",
        "sm_90": "h100 h200 h20 h800 gh200",
        "sm_100": "b100 b200 gb200",
        "sm_103": "b300 gb300",
        "sm_107": "r200 vr200 verarubin",
        "sm_110": "jetsonthor thor",
        "sm_120": "rtx5050 rtx5060 rtx5060ti rtx5070 rtx5070ti rtx5080 rtx5090 rtxpro4000blackwell "
        "rtxpro4500blackwell rtxpro5000blackwell rtxpro6000blackwell rtxpro6000",
        "sm_121": "gb10 dgxspark",
    }.items()
    for name in names.split()
}
"""Product → architecture, from NVIDIA's "CUDA GPU Compute Capability" page; names as `_product` makes them."""
_OLDER_PRODUCTS = {
    name: architecture
    for architecture, names in {
        "sm_60": "p100 gp100",
        "sm_61": "p4 p40 gtx1050 gtx1050ti gtx1060 gtx1070 gtx1070ti gtx1080 gtx1080ti",
        "sm_70": "v100 gv100 titanv",
        "sm_75": "t4 titanrtx gtx1650 gtx1650ti gtx1660 gtx1660ti rtx2060 rtx2070 rtx2080 rtx2080ti",
    }.items()
    for name in names.split()
}
"""The same for GPUs that are older than every target. A hint names their architecture."""


def _product(name: str) -> str:
    """`NVIDIA GeForce RTX 4090` → `rtx4090`."""
    words = name.lower().replace("-", " ").replace("_", " ").split()
    return "".join(word for word in words if word not in ("nvidia", "geforce", "tesla", "quadro"))


def targets() -> tuple[Target, ...]:
    """Every supported target, oldest first."""
    return tuple(_TABLE.values())


def targets_with(feature: Feature) -> tuple[Target, ...]:
    """Every target that has a feature, oldest first."""
    return tuple(target for target in targets() if target.has(feature))


_FIRST_FAMILY = 100
"""The first compute capability with a suffix `f`, for a family of GPUs."""
_FAMILY_PTX = 88
"""The first PTX ISA version with this suffix, as `min_ptx`."""
_NOT_IN_FAMILIES = {_F.TCGEN05_INT8}
"""Features that need the suffix `a`."""


def lookup(name: str) -> Target:
    """Returns the target with the given name. `sm_90`, `sm_90a` and `H100` are the same target. The code of `sm_100f`
    also runs on the later GPUs of the family.

    Raises UnknownTargetError, with a hint, for every other name.
    """
    found = _TABLE.get(name) or _TABLE.get(_PRODUCTS.get(_product(name), ""))
    if found is None and name.endswith("a"):
        candidate = _TABLE.get(name[:-1])
        # `sm_80a` exists nowhere; only an architecture that is compiled with the suffix has it.
        found = candidate if candidate is not None and candidate.cpu == name else None
    if found is None and name.endswith("f"):
        candidate = _TABLE.get(name[:-1])
        if candidate is not None and candidate.compute_capability >= _FIRST_FAMILY:
            found = replace(
                candidate,
                cpu=name,
                min_ptx=max(candidate.min_ptx, _FAMILY_PTX),
                features=candidate.features - _NOT_IN_FAMILIES,
                stand_in=f"{candidate.stand_in[:-1]}f" if candidate.stand_in else None,
            )
    if found is None:
        raise UnknownTargetError(f"unknown GPU '{name}'; expected one of {', '.join(_TABLE)}", _suggest(name))
    return found


def _suggest(name: str) -> str:
    oldest = min(_TABLE.values(), key=lambda target: target.compute_capability)
    older = f"the oldest GPU that is supported is {oldest.name}"
    if architecture := _OLDER_PRODUCTS.get(_product(name)):
        return f"this GPU is {architecture}; {older}"
    # Digits of a product's name, such as those of V100, say nothing about its architecture.
    digits = name.lower().removeprefix("sm").removeprefix("compute").removeprefix("_").rstrip("af")
    if f"sm_{digits}" in _TABLE:
        return f"did you mean 'sm_{digits}'?"
    if (
        name.lower().startswith(("sm_", "compute_"))
        and digits.isdecimal()
        and 1 < len(digits) < 4
        and int(digits) < oldest.compute_capability
    ):
        return older
    import difflib  # only needed for an error

    close = difflib.get_close_matches(name, _TABLE, n=1)
    close = close or difflib.get_close_matches(_product(name), _PRODUCTS, n=1, cutoff=0.8)
    if close:
        meant = close[0] if close[0] in _TABLE else close[0].upper()
        return f"did you mean '{meant}'?"
    return "name the GPU or its architecture, as in --gpu-name=H100 or --gpu-name=sm_90"
