"""Timing of the GPUs that the clock of the simulated GPU knows: rates, latencies and sizes, each with its source.

    timing(lookup("sm_90")).value("l2_latency")  →  263.0

Latencies are SM cycles from issue to result; rates are per SM and cycle unless the name says `chip`.  The numbers are
public measurements.  A number that has not been published for the architecture is marked as a guess: it is that of the
nearest architecture, or follows from the others.  No number is fitted to a kernel.

    [HP1] [HP2]  Luo et al., arXiv 2402.13499 and 2501.12084: Ampere, Ada and Hopper by microbenchmarks
    [SUN]        Sun et al., arXiv 2206.02874: tensor cores of Ampere
    [AMP]        Abdelkhalik et al., arXiv 2208.11174: instruction latencies of A100
    [GB]         RRZE-HPC/gpu-benches: caches, DRAM and launches
    [HPL]        HPMLL/NVIDIA-Hopper-Benchmark: raw logs
    [FV]         revollllt/flash-vla: notes of measurements on H100 SXM
    [QRC]        ademeure/QuickRunCUDA: measurements on B300
    [CG]         CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions"
    [WP]         NVIDIA's architecture white papers, as openxla/xla cites them
    [AS]         configurations of Accel-Sim
    [TS]         tile-ai/TileSight: measured tables
    [SA]         SemiAnalysisAI/microbench-blackwell: measurements on B200
    [SD]         cicuvc/nvidia-sass-document, notes on sm_80: pipes of A100 by Nsight Compute's counters
    [NV]         a developer of Nsight Compute in NVIDIA's forum, topic 302018: which pipes execute what
    [TR]         latencies of a compiler for B200 in facebookexperimental/triton, LatencyModel.cpp
"""

from __future__ import annotations

from collections.abc import Mapping

from tessera_tools.records import dataclass, replace
from tessera_tools.target.table import Target

__all__ = ["Number", "Timing", "timing"]


@dataclass(frozen=True, slots=True)
class Number:
    """One number of the table."""

    value: float
    source: str
    guess: bool = False


@dataclass(frozen=True, slots=True)
class Timing:
    """One GPU, by its best-known product."""

    product: str
    numbers: Mapping[str, Number]

    def value(self, name: str) -> float:
        """The number called `name`. KeyError if there is none."""
        return self.numbers[name].value

    def at(self, clock_mhz: float) -> Timing:
        """The same GPU with its SMs at another clock; DRAM does not change.

        The latency of DRAM is counted in cycles of the SM: what it takes beyond L2 changes with the clock.
        """
        factor = clock_mhz / self.value("clock_mhz")
        near, far = self.value("l2_latency"), self.numbers["dram_latency"]
        changed = {
            "clock_mhz": Number(clock_mhz, "given by the user"),
            "dram_latency": replace(far, value=near + (far.value - near) * factor),
        }
        return replace(self, numbers={**self.numbers, **changed})


def _known(**numbers: tuple[float, str]) -> dict[str, Number]:
    return {name: Number(value, source) for name, (value, source) in numbers.items()}


def _guessed(**numbers: tuple[float, str]) -> dict[str, Number]:
    return {name: Number(value, source, guess=True) for name, (value, source) in numbers.items()}


_COMMON = {
    **_known(
        schedulers=(4, "[CG]: four partitions, one instruction a cycle each"),
        shared_bytes=(128, "[SUN]: ldmatrix reaches 127.8 bytes a cycle"),
        # Rates, in lanes; a lane of F2FP converts two numbers.
        integer_rate=(64, "[CG]: 32-bit integer add, compare, logic"),
        multiply_rate=(64, "[CG]: 32-bit integer multiply-add, by the FMA units [NV]"),
        special_rate=(16, "[CG]: elementary functions"),
        shuffle_rate=(32, "[CG]: warp shuffle"),
        # Latencies.
        arithmetic_latency=(4, "[AMP] Table II: dependent FFMA, IADD"),
        special_latency=(18, "[AMP] Table V: ex2, lg2"),
        bulk_share=(0.5, "[FV]: with TMA at once, wgmma is 1.05 times slower and TMA 1.25 times"),
        dsmem_latency=(181, "[HPL], [HP2] 7.1: a load from the other CTA of a cluster of 2"),
        wavefront=(2, "[SUN] Table 10: each further way of a bank conflict, seen by one warp"),
    ),
    **_guessed(
        shuffle_latency=(23, "Volta, Jia et al., arXiv 1804.06826"),
        barrier_latency=(22, "[QRC] on B300: 22 + 2 a warp"),
        barrier_per_warp=(2, "[QRC] on B300"),
        cluster_barrier=(
            375,
            "[QRC] on B300: cluster.sync, 370 to 380; [FV] has 0.51 us for 4 CTAs on H100, in a loop",
        ),
        cluster_barrier_relaxed=(102, "[QRC] on B300: arrive.relaxed and wait"),
        mbarrier_arrive=(24, "[QRC] on B300"),
        mbarrier_wait=(30, "compiler model for B200 in facebookexperimental/triton"),
        fence_latency=(16, "[QRC] on B300: threadfence_block"),
        atomic_latency=(310, "[QRC] on B300: near L2"),
        branch_latency=(8, "no measurement known"),
        cta_launch=(200, "no measurement known: about 0.1 us"),
        launch_us=(2.0, "[GB]: 64 kB kernels on H200, 1.3 us in a graph to 2.5 us"),
    ),
}

_A100 = Timing(
    "A100 SXM 80 GB",
    {
        **_COMMON,
        **_known(
            sms=(108, "[WP]"),
            clock_mhz=(1410, "[WP]: boost"),
            fma_rate=(64, "[CG]"),
            half_rate=(256, "[CG]: packed f16, in elements"),
            convert_rate=(64, "[SD]: F2FP counts as an instruction of the ALU, and takes 2 cycles of it"),
            tensor_f16=(1024, "[WP]: multiply-adds a cycle; [SUN] measures 1004"),
            mma_latency=(17, "[SUN] Table 3: 24.7 less the 8 cycles of one m16n8k16"),
            l1_latency=(37.9, "[HP1]"),
            shared_latency=(29, "[HP1]"),
            l2_latency=(261.5, "[HP1]"),
            dram_latency=(571, "[GB]"),
            l2_bytes=(40 << 20, "[WP]"),
            l2_chip_rate=(3830, "[GB]: 5.4 TB/s at 1.41 GHz"),
            dram_chip_gbs=(1769, "[GB]: read stream of the 80 GB product"),
            dram_turnaround=(0.15, "[GB], [TS]: a copy runs at 89 to 98 % of the read stream"),
        ),
        **_guessed(
            cp_async_latency=(60, "more than a load; no measurement known"),
        ),
    },
)

_H100 = Timing(
    "H100 SXM",
    {
        **_COMMON,
        **_known(
            sms=(132, "[WP]"),
            clock_mhz=(1830, "[WP]: boost with tensor cores; long products run at 1050 to 1580 [FV]"),
            fma_rate=(128, "[CG]"),
            half_rate=(256, "[CG]: packed f16, in elements"),
            convert_rate=(16, "[CG], as deepseek-ai/FlashMLA cites it: f32 to bf16, in results"),
            tensor_f16=(2048, "[WP]: wgmma, multiply-adds a cycle; [HP2] reaches it"),
            mma_f16=(1308, "[FV]: one m16n8k16 in 6.26 cycles a partition"),
            mma_latency=(18, "[HP2] Table 7: 24.1 less the 6 cycles of one m16n8k16"),
            wgmma_drain=(46, "[FV]: wait for one m64n64k16 is 79 cycles, of which it takes 32"),
            wgmma_rs_floor=(13, "[HP2] Table 9"),
            l1_latency=(40.7, "[HP1]"),
            shared_latency=(29, "[HP1]"),
            l2_latency=(263, "[HP1]"),
            dram_latency=(656, "[GB], [HPL]"),
            l2_bytes=(50 << 20, "[WP]"),
            l2_chip_rate=(5700, "[GB]: H200 9.7 to 11 TB/s"),
            dram_chip_gbs=(3100, "[FV]: 3.02 to 3.17 TB/s"),
            dram_turnaround=(0.27, "[GB] on H100 PCIe: a copy runs at 88 % of the read stream"),
            tma_latency=(170, "[HP2] section 5.1: more than a plain load"),
        ),
        **_guessed(
            cp_async_latency=(60, "more than a load; no measurement known"),
            tma_issue=(30, "compiler model for B200 in facebookexperimental/triton"),
        ),
    },
)

_B200 = Timing(
    "B200",
    {
        **_COMMON,
        **_known(
            sms=(148, "[SA]"),
            clock_mhz=(
                1965,
                "[SA]: the clock of its measurements; long products run slower, which nobody has published",
            ),
            fma_rate=(128, "[CG]"),
            tensor_f16=(4096, "[SA]: 8153 operations a cycle of tcgen05.mma, one CTA, 128x256"),
            umma_latency=(
                136,
                "[SA]: of 264 cycles from issue to the wait for its commit, less the 128 it takes",
            ),
            umma_latency_tmem=(104, "[SA]: the same with A in tensor memory"),
            umma_pair_latency=(170, "[SA]: the same for two CTAs"),
            l2_bytes=(126.5 * (1 << 20), "[SA]"),
            l2_chip_rate=(10260, "[TS]: 20160 GB/s at 1.965 GHz"),
            dram_chip_gbs=(7260, "[SA]: by TMA; [TS] reads 6955 GB/s"),
            tmem_read=(466, "[TS]: bytes a cycle"),
            tmem_write=(1024, "[TS]: bytes a cycle"),
        ),
        **_guessed(
            half_rate=(256, "H100"),
            convert_rate=(32, "[QRC] on B300: 26 a cycle, packed"),
            mma_f16=(1024, "[QRC] on B300: 578 TFLOP/s, 23 % of tcgen05.mma"),
            mma_latency=(12, "[QRC] on B300: 20.1 less the 8 cycles of one m16n8k16"),
            l1_latency=(40, "[QRC] on B300: 38 to 47"),
            shared_latency=(29, "[QRC] on B300"),
            l2_latency=(305, "[QRC] on B300: 300 to 310"),
            dram_latency=(730, "[SA]: 900 cycles of the smallest TMA copy, less that of TMA"),
            dram_turnaround=(0.105, "[QRC] on B300: a copy runs at 95 % of the read stream"),
            tma_latency=(170, "H100"),
            tma_issue=(30, "[TR]"),
            cp_async_latency=(60, "H100"),
            tmem_load_latency=(
                30,
                "not published alone; [TR] has 179 cycles for 128x64, most of which is bandwidth",
            ),
        ),
    },
)

_TABLE: Mapping[str, Timing] = {"sm_80": _A100, "sm_90": _H100, "sm_100": _B200}


def timing(target: Target) -> Timing | None:
    """The table of a target; None if the clock does not know it."""
    return _TABLE.get(target.name)
