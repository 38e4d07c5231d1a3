"""Pools of workers: a cluster that cannot be reached is told."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.tuning.pool import RayPool


@pytest.mark.parametrize(("address", "shown"), [("ray://nowhere:1", "ray://nowhere:1"), ("", "local")])
def test_a_cluster_that_cannot_be_reached_is_told(
    address: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**options: object) -> None:
        raise ConnectionError("no route\nto the head")

    ray: Any = ModuleType("ray")
    ray.is_initialized = lambda: False
    ray.init = fail
    monkeypatch.setitem(sys.modules, "ray", ray)
    task: Any = None
    with pytest.raises(DiagnosticError) as caught:
        RayPool(task, address, 1, 1)
    (only,) = caught.value.diagnostics
    assert only.message == f"--ray cannot reach the cluster '{shown}': no route to the head"
