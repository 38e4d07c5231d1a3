"""The passes that options ask for.

Options, stage ──steps_of──▶ the steps of the target's pipeline, from the stage to llvm
"""

from __future__ import annotations

from tessera_tools.analysis.persistent import BLOCKS, LARGE
from tessera_tools.diagnostics import error
from tessera_tools.emit.compiled import Options, Stage
from tessera_tools.passes.table import Step, agents_of, has_agents, pipeline_for

__all__ = ["steps_of"]


def steps_of(options: Options, stage: Stage) -> list[Step]:
    """The passes that lower `stage` to llvm.  Raises DiagnosticError for options that exclude each other."""
    agents = options.allows_agents
    groups = options.num_consumer_warpgroups
    if groups and not (agents and has_agents(options.target.name)):
        raise error(None, f"{groups} consumer warpgroups cannot be had: {_no_agents(options)}")
    if options.ping_pong in ("always", "tiles") and not (agents and has_agents(options.target.name)):
        raise error(None, f"ping-pong={options.ping_pong} cannot be followed: {_no_agents(options)}")
    if options.agents != "auto":
        _check_agents(options)
    if options.cluster not in ("auto", "1x1") and stage not in ("cuda_tile", "nv_tileaa"):
        why = f"a program in {stage} says itself what each CTA computes"
        raise error(None, f"cluster={options.cluster} cannot be followed: {why}")
    if options.split_k > 1 and stage not in ("cuda_tile", "nv_tileaa"):
        why = f"a program in {stage} says itself what each CTA computes"
        raise error(None, f"split-k={options.split_k} cannot be followed: {why}")
    if options.split_k > 1 and options.cluster not in ("auto", "1x1"):
        why = "both say what the CTAs of a cluster do"
        raise error(None, f"split-k={options.split_k} cannot be had with cluster={options.cluster}: {why}")
    if options.persistent in ("static", "counter") and options.plain_abi:
        why = "the plain ABI has no parameters for the grid"
        raise error(None, f"persistent={options.persistent} cannot be followed: {why}")
    if options.cluster.startswith(BLOCKS) and options.plain_abi:
        raise error(
            None,
            f"cluster={options.cluster} cannot be followed: the plain ABI has no parameters for the grid",
        )
    return pipeline_for(
        options.target.family_or_name,
        stage,
        options.num_warps,
        agents,
        groups,
        options.num_stages,
        options.ping_pong,
        options.agents,
        options.cluster,
        options.persistent,
        options.raster,
        options.launches == LARGE,
        options.split_k,
        options.tile_blocks,
        options.arguments,
    )


def _check_agents(options: Options) -> None:
    """Raises DiagnosticError unless kernels of the target may have the agents that the option asks for."""
    wanted, possible = options.agents, agents_of(options.target.name)
    if wanted not in possible:
        listed = " or ".join(filter(None, (", ".join(possible[:-1]), possible[-1])))
        why = f"{options.target.name} has none such; expected {listed}"
    elif wanted != "none" and not options.allows_agents:
        why = "the plain ABI and a number of warps exclude agents"
    elif wanted == "none" and (options.num_consumer_warpgroups or options.ping_pong in ("always", "tiles")):
        why = "options for consumers are given"
    else:
        return
    raise error(None, f"agents={wanted} cannot be followed: {why}")


def _no_agents(options: Options) -> str:
    """Why no kernel has consumers beside a producer."""
    if not options.allows_agents:
        return "without agents, which the plain ABI and a number of warps exclude, there are no consumers"
    return f"{options.target.name} has no producer beside consumers; that requires sm_90a"
