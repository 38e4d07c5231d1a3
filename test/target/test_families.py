"""GPU names with the suffix `f`: code for a family of GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest
from pipelines.programs_of_products import Product

from oracles import require_tool
from tessera_tools.cli.opt import run as opt
from tessera_tools.cli.translate import run as translate
from tessera_tools.target import Feature, UnknownTargetError, lookup

ROOT = Path(__file__).resolve().parents[2]
KERNEL = (ROOT / "examples" / "vector_add.mlir").read_bytes()


@pytest.mark.parametrize("name", ["sm_100f", "sm_103f", "sm_107f", "sm_110f", "sm_120f", "sm_121f"])
def test_a_family_is_its_gpu_with_another_name(name: str) -> None:
    family, gpu = lookup(name), lookup(name[:-1])
    assert (family.name, family.cpu) == (gpu.name, name)
    assert family.features == gpu.features - {Feature.TCGEN05_INT8}
    assert family.min_ptx >= 88


@pytest.mark.parametrize("name", ["sm_80f", "sm_90f", "sm_f", "sm_100af"])
def test_older_gpus_have_no_family(name: str) -> None:
    with pytest.raises(UnknownTargetError):
        lookup(name)


@pytest.mark.parametrize("name", ["sm_100f", "sm_107f"])
def test_ptxas_takes_the_code(name: str, tmp_path: Path) -> None:
    require_tool("ptxas")
    result = translate(["--mlir-to-cubin", f"--gpu-name={name}", "-o", "k.cubin"], KERNEL, str(tmp_path))
    assert result.exit_code == 0, result.stderr.decode()
    assert f".target {name}".encode() in translate(["--mlir-to-ptx", f"--gpu-name={name}"], KERNEL).stdout


def test_an_intermediate_module_is_of_the_gpu_and_of_its_family() -> None:
    module = opt(["--tessera-pipeline=sm_100f", "--to=nv_tileas"], KERNEL).stdout
    for name in ("sm_100f", "sm_100a", "sm_100"):
        assert translate(["--mlir-to-ptx", f"--gpu-name={name}"], module).exit_code == 0
    assert b"was lowered for" in translate(["--mlir-to-ptx", "--gpu-name=sm_90"], module).stderr


@pytest.mark.parametrize("name", ["sm_100f", "sm_110f"])
def test_products_of_integers_are_mma_sync(name: str, tmp_path: Path) -> None:
    """Only sm_100a and sm_110a have tcgen05.mma with .kind::i8."""
    text = Product("i8", "i32", m=128, k=128, b_t="view").text().encode()
    assert b"tcgen05.mma" in translate(["--mlir-to-ptx", f"--gpu-name={name[:-1]}"], text).stdout
    result = translate(["--mlir-to-ptx", f"--gpu-name={name}", "-o", "k.ptx"], text, str(tmp_path))
    assert result.exit_code == 0, result.stderr.decode()
    ptx = (tmp_path / "k.ptx").read_text()
    assert "mma.sync" in ptx and "tcgen05" not in ptx


@pytest.mark.parametrize("stage", ["nv_tileaa", "nv_tileas"])
@pytest.mark.parametrize("declared", [True, False])
def test_an_intermediate_module_is_compiled_for_the_features_of_a_family(stage: str, declared: bool) -> None:
    """Also one that was lowered for the GPU, or that does not say its target."""
    text = Product("i8", "i32", m=128, k=128, b_t="view").text().encode()
    module = opt(["--tessera-pipeline=sm_100a", f"--to={stage}"], text).stdout
    if not declared:
        assert b', nv_tileaa.target_spec = "sm_100a"' in module
        module = module.replace(b', nv_tileaa.target_spec = "sm_100a"', b"")
    result = translate(["--mlir-to-ptx", "--gpu-name=sm_100f"], module)
    assert result.exit_code == 0, result.stderr.decode()
    assert b"mma.sync" in result.stdout and b"tcgen05" not in result.stdout
    assert b"tcgen05.mma" in translate(["--mlir-to-ptx", "--gpu-name=sm_100a"], module).stdout
