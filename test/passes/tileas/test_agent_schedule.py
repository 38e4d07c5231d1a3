"""The schedule of a consumer's loop: swaps of ops shorten the live ranges of tiles, and keep the rest."""

from __future__ import annotations

import pytest
from main_loop import main_loop

from tessera_tools.analysis.modulo_scheduling import Schedule
from tessera_tools.passes.tileas.agent_schedule import AgentLoop
from tessera_tools.passes.tileas.products import choose


def agent_loop(name: str, target: str) -> AgentLoop:
    """The main loop of a corpus kernel."""
    kernel, loop, gpu = main_loop(name, target)
    return AgentLoop(loop, gpu, choose(kernel))


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("name", ["attention_causal_bf16_d128", "attention_causal_f16_d64"])
def test_swaps_shorten_live_ranges(name: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    swapped: list[tuple[Schedule, Schedule]] = []
    shortened = AgentLoop._shortened

    def watched(self: AgentLoop, found: Schedule) -> Schedule:
        swapped.append((found, shortened(self, found)))
        return swapped[-1][1]

    monkeypatch.setattr(AgentLoop, "_shortened", watched)
    loop = agent_loop(name, target)
    lengths = [tuple(map(loop._lifetimes, pair)) for pair in swapped]
    assert all(after <= before for before, after in lengths)
    assert any(after < before for before, after in lengths)
    for before, after in swapped:
        assert after.interval == before.interval
        for one in loop.dependences:
            latest = after.cycles[one.target] + one.distance * after.interval
            assert latest >= after.cycles[one.source] + one.latency
