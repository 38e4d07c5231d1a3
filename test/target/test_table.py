"""The table of GPU architectures."""

from __future__ import annotations

import pytest

from tessera_tools.target import Feature, UnknownTargetError, lookup, targets


def test_every_supported_gpu_is_in_the_table():
    names = [target.name for target in targets()]
    assert names == [f"sm_{n}" for n in (80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121)]


@pytest.mark.parametrize("name", ["sm_90", "sm_90a"])
def test_the_architecture_suffix_may_be_left_out(name: str):
    assert lookup(name).cpu == "sm_90a"


def test_a_gpu_without_suffix_is_compiled_without_one():
    assert lookup("sm_80").ptx_target == "sm_80"


@pytest.mark.parametrize(
    ("product", "name"),
    [
        ("A100", "sm_80"),
        ("RTX 3090", "sm_86"),
        ("NVIDIA GeForce RTX 4090", "sm_89"),
        ("rtx-4090", "sm_89"),
        ("L40S", "sm_89"),
        ("h100", "sm_90"),
        ("B200", "sm_100"),
        ("GB300", "sm_103"),
        ("Vera Rubin", "sm_107"),
        ("RTX 5090", "sm_120"),
        ("DGX Spark", "sm_121"),
    ],
)
def test_products_are_known_by_their_names(product: str, name: str):
    assert lookup(product).name == name


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("sm_80a", "did you mean 'sm_80'?"),
        ("sm90", "did you mean 'sm_90'?"),
        ("90", "did you mean 'sm_90'?"),
        ("SM_120", "did you mean 'sm_120'?"),
        ("sm_9", "did you mean 'sm_90'?"),
        ("sm_70", "the oldest GPU that is supported is sm_80"),
        ("sm_75", "the oldest GPU that is supported is sm_80"),
        ("V100", "this GPU is sm_70; the oldest GPU that is supported is sm_80"),
        ("Tesla T4", "this GPU is sm_75; the oldest GPU that is supported is sm_80"),
        ("P80", "name the GPU or its architecture, as in --gpu-name=H100 or --gpu-name=sm_90"),
        ("RTX 4091", "did you mean 'RTX4090'?"),
        ("hopper", "name the GPU or its architecture, as in --gpu-name=H100 or --gpu-name=sm_90"),
        ("", "name the GPU or its architecture, as in --gpu-name=H100 or --gpu-name=sm_90"),
    ],
)
def test_an_unknown_gpu_is_refused_with_a_suggestion(name: str, hint: str):
    with pytest.raises(UnknownTargetError) as caught:
        lookup(name)
    assert caught.value.hint == hint
    assert caught.value.message.startswith(f"unknown GPU '{name}'; expected one of sm_80, ")


@pytest.mark.parametrize(
    ("feature", "names"),
    [
        (Feature.CP_ASYNC, "sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_100 sm_103 sm_107 sm_110 sm_120 sm_121"),
        (Feature.MMA_SYNC, "sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_100 sm_103 sm_107 sm_110 sm_120 sm_121"),
        (Feature.MMA_SYNC_F64, "sm_90 sm_100 sm_103 sm_107 sm_110 sm_120 sm_121"),
        (Feature.MMA_SYNC_FP8, "sm_89 sm_90 sm_100 sm_103 sm_107 sm_110 sm_120 sm_121"),
        (Feature.CVT_FP8, "sm_89 sm_90 sm_100 sm_103 sm_107 sm_110 sm_120 sm_121"),
        (Feature.CVT_RN_TF32, "sm_90 sm_100 sm_103 sm_107 sm_110 sm_120 sm_121"),
        (Feature.CVT_FP4, "sm_100 sm_103 sm_107 sm_110 sm_120 sm_121"),
        (Feature.TMA, "sm_90 sm_100 sm_103 sm_107 sm_110 sm_120 sm_121"),
        (Feature.WGMMA, "sm_90"),
        (Feature.TCGEN05, "sm_100 sm_103 sm_107 sm_110"),
        (Feature.TCGEN05_INT8, "sm_100 sm_110"),
        (Feature.TCGEN05_LD_RED, "sm_103 sm_107 sm_110"),
        (Feature.MMA_SYNC_BLOCK_SCALE, "sm_120 sm_121"),
    ],
)
def test_features_stand_where_the_ptx_isa_has_them(feature: Feature, names: str):
    assert [target.name for target in targets() if target.has(feature)] == names.split()


def test_shared_memory_of_a_block_leaves_room_for_what_the_system_reserves():
    for target in targets():
        assert target.max_shared_per_block + target.reserved_shared_per_block == target.max_shared_per_sm


def test_shared_memory_sizes_are_those_of_the_programming_guide():
    assert lookup("sm_80").max_shared_per_block == 163 * 1024
    assert lookup("sm_90").max_shared_per_block == 227 * 1024
    assert lookup("sm_107").max_shared_per_block == 327 * 1024
    assert lookup("sm_120").max_shared_per_block == 99 * 1024


def test_tensor_memory_comes_with_tcgen05():
    assert {target.name: target.tmem_columns for target in targets() if target.tmem_columns} == {
        "sm_100": 512,
        "sm_103": 512,
        "sm_107": 512,
        "sm_110": 512,
    }


def test_clusters_come_with_hopper():
    assert lookup("sm_89").max_cluster_size == 1
    assert lookup("sm_90").max_cluster_size == 8
