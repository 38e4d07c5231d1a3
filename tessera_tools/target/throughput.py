"""Throughput of the GPU architectures: rates and latencies of one multiprocessor (SM), for schedules.

    throughput(lookup("sm_90")).tensor("wgmma", 16)  →  2048 multiply-adds a cycle

Rates are per SM and clock cycle; latencies are cycles.  Public measurements and vendor tables, with their sources:

    [CG]   CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions"
    [HP]   Luo et al., arXiv 2402.13499 and 2501.12084: dissections of Ampere, Ada and Hopper by microbenchmarks
    [SUN]  Sun et al., arXiv 2206.02874: tensor cores of Ampere
    [AMP]  Abdelkhalik et al., arXiv 2208.11174: instruction latencies of A100
    [WP]   NVIDIA's architecture white papers: peak rates and clocks
    [GB]   RRZE-HPC/gpu-benches: bandwidth of L2 by working set
    [SA]   SemiAnalysis, measurements of B200
    [DR]   bandwidth of DRAM by number and clock of the SMs, from timing.py where it has the GPU, else from data sheets

If no number is published, the table uses that of the nearest architecture. `guesses` lists such fields.
"""

from __future__ import annotations

from collections.abc import Mapping

from tessera_tools.records import dataclass, replace
from tessera_tools.target.table import Target, lookup
from tessera_tools.target.timing import timing

__all__ = ["Throughput", "throughput"]


@dataclass(frozen=True, slots=True)
class Throughput:
    """Rates of one SM per cycle, and latencies in cycles."""

    mma: Mapping[int, int]
    """Multiply-adds of mma.sync a cycle, by the bits of an element of A."""
    wgmma: Mapping[int, int]
    """Multiply-adds of the warpgroup's product a cycle, by the bits of an element; empty without it."""
    tcgen05: Mapping[int, int]
    """Multiply-adds of tcgen05.mma a cycle, by the bits of an element; empty without it."""
    fma: int
    """f32 multiply-adds (and additions, multiplications, comparisons) a cycle [CG]."""
    integer: int
    """Integer and logic operations a cycle [CG]."""
    special: int
    """Elementary functions (ex2, lg2, rcp, rsqrt, sin) a cycle, on the MUFU [CG]."""
    convert: int
    """Conversions from f32 to a narrower format a cycle, two at a time in each lane [timing.py]."""
    memory_bytes: int
    """Bytes from L2 to one SM a cycle, while all SMs load [GB]."""
    dram_bytes: int
    """Bytes from DRAM to one SM a cycle, while all SMs load [DR]."""
    memory_latency: int
    """From the issue of a load to its data, from DRAM [HP]."""
    shared_latency: int
    """From the issue of a load from shared memory to its data [HP]."""
    mma_latency: int
    """From the issue of an mma.sync to its result [HP]."""
    issue: int = 4
    """Instructions of warps a cycle: one for each of the four schedulers."""
    shared_bytes: int = 128
    """Bytes from or to shared memory a cycle: 32 banks of 4 bytes."""
    arithmetic_latency: int = 4
    """From the issue of an arithmetic instruction to its result [AMP]."""
    barrier_latency: int = 38
    """From the last arrival of two warpgroups at a named barrier to its end: 22, and 2 for each warp [timing.py]."""
    mbarrier_latency: int = 54
    """An arrival at an mbarrier and a wait for another one, which is complete: 24 and 30, guesses [timing.py]."""
    guesses: tuple[str, ...] = ()
    """Fields whose values are those of another architecture."""

    def tensor(self, primitive: str, bits: int) -> int:
        """Returns multiply-adds per cycle for elements of `bits` with `primitive`: mma, wgmma, tcgen05 or fma."""
        rates = {
            "mma": self.mma,
            "wgmma": self.wgmma or self.mma,
            "tcgen05": self.tcgen05 or self.mma,
        }.get(primitive)
        if rates is None:
            return self.fma
        return rates.get(bits, max(rates.values()) if bits < min(rates) else self.fma)


def _convert(name: str) -> int:
    """An instruction converts two numbers in each lane, and a lane is what the clock's rate counts."""
    table = timing(lookup(name))
    assert table is not None
    return int(2 * table.value("convert_rate"))


# [WP] 312 TFLOP/s at 1.41 GHz and 108 SMs is 1024 f16 multiply-adds a cycle; [SUN] measures 1004 of them.
# [GB] 5.4 TB/s from L2 to 108 SMs; [HP] latencies of Tables IV and VII.
_SM80 = Throughput(
    mma={64: 64, 32: 512, 16: 1024, 8: 2048},
    wgmma={},
    tcgen05={},
    fma=64,
    integer=64,
    special=16,
    convert=_convert("sm_80"),
    memory_bytes=35,
    dram_bytes=12,
    memory_latency=570,
    shared_latency=29,
    mma_latency=25,
)
# [WP] Ampere without HBM: a quarter of the tensor rate with f32 accumulators, twice the f32 lanes.
_SM86 = replace(
    _SM80,
    mma={64: 1, 32: 128, 16: 256, 8: 1024},
    fma=128,
    memory_bytes=14,
    dram_bytes=5,
    memory_latency=541,
    mma_latency=33,
    guesses=("memory_bytes", "memory_latency", "convert"),
)
# Jetson AGX Orin's data sheet: 85 dense int8 TOP/s at 1.3 GHz and 16 SMs, the tensor cores of sm_80.
_SM87 = replace(_SM86, mma={64: 1, 32: 512, 16: 1024, 8: 2048}, dram_bytes=10)
_SM89 = replace(_SM86, mma={64: 1, 32: 128, 16: 512, 8: 1024}, dram_bytes=3, guesses=("convert",))
# The rate of conversions that the clock takes for H100 is that of [CG], which counts results, not those of a packed
# instruction.  By the clock, attention of depth 64 that is scheduled for it takes 7 % longer than for that of B200.
# [HP] mma.sync reaches 62.9 % of the peak, wgmma all of it; [GB] 7.0 TB/s from L2 to 114 SMs.
_SM90 = replace(
    _SM80,
    mma={64: 128, 32: 640, 16: 1290, 8: 2580},
    wgmma={32: 1024, 16: 2048, 8: 4096},
    fma=128,
    convert=_convert("sm_100"),
    dram_bytes=13,
    memory_latency=657,
    guesses=("convert",),
)
# [SA] 20 TB/s from L2 to 148 SMs, and the rates of tcgen05.mma.  mma.sync: 4 cycles an m16n8k16 on each of the four
# partitions, measured on B300.
_SM100 = replace(
    _SM90,
    mma={64: 64, 32: 512, 16: 1024, 8: 2048},
    wgmma={},
    tcgen05={32: 2048, 16: 4096, 8: 8192},
    memory_bytes=69,
    dram_bytes=25,
    convert=_convert("sm_100"),
    memory_latency=730,
    mma_latency=20,
    guesses=("memory_latency", "convert"),
)
# [WP] 209.5 TFLOP/s f16 with f32 accumulators at 2.41 GHz and 170 SMs.
_SM120 = replace(
    _SM89,
    convert=_convert("sm_100"),
    mma={64: 2, 32: 128, 16: 256, 8: 1024},
    dram_bytes=4,
    memory_latency=600,
    mma_latency=35,
    guesses=("memory_bytes", "memory_latency", "convert"),
)

_TABLE: Mapping[str, Throughput] = {
    "sm_80": _SM80,
    "sm_86": _SM86,
    "sm_87": _SM87,
    "sm_88": _SM86,
    "sm_89": _SM89,
    "sm_90": _SM90,
    "sm_100": _SM100,
    "sm_103": _SM100,
    # No measurement known.
    "sm_107": replace(_SM100, guesses=("mma", "memory_bytes", "memory_latency", "mma_latency", "convert")),
    "sm_110": _SM100,
    "sm_120": _SM120,
    "sm_121": _SM120,
}


def throughput(target: Target) -> Throughput:
    """The rates of a target of the target table."""
    return _TABLE[target.name]
