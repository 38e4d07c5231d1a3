"""Which pass must run before which, with the reasons: data, and what a list of passes violates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

ORDER: Sequence[tuple[str, str, str]] = (
    (
        "tile-collective-insertion",
        "convert-tile-to-tileas",
        "the pass shards whole tensors of the tile dialect",
    ),
    (
        "tile-intrinsic-lowering",
        "convert-tile-to-tileas",
        "it selects instructions for tile ops, which the conversion removes",
    ),
    (
        "tile-register-coalescing",
        "convert-tile-to-tileas",
        "fragments are buffers only in the tile dialect",
    ),
    ("tile-performance-annotation", "convert-tile-to-tileas", "the conversion preserves the hints"),
    (
        "tile-memory-management",
        "convert-tile-to-tileas",
        "it chooses swizzles of buffers of the tile dialect, which the conversion lays out",
    ),
    (
        "tile-double-buffering",
        "convert-tile-to-tileas",
        "it moves copies of the tile dialect an iteration ahead",
    ),
    (
        "tile-barrier-optimization",
        "tile-double-buffering",
        "it treats a ring of buffers as one, and would wait for all copies to it",
    ),
    ("tile-analyze", "convert-tile-to-tileas", "it reports on ops of the tile dialect"),
    ("convert-tile-to-tileas", "tileas-schedule", "only nv_tileas loops are scheduled"),
    (
        "convert-tile-to-tileas",
        "tileas-materialize-schedule",
        "it needs products and loads as nv_tileas ops",
    ),
    ("convert-tile-to-tileas", "tileas-assign-layouts", "layouts are assigned to nv_tileas ops"),
    (
        "tile-register-coalescing",
        "tile-memory-management",
        "registers and accesses are counted after fragments and accesses have been merged",
    ),
    (
        "tile-register-coalescing",
        "tile-performance-annotation",
        "hints depend on the number of instructions and accesses",
    ),
    (
        "tile-memory-management",
        "tile-performance-annotation",
        "spills add instructions to loops",
    ),
    (
        "tile-memory-management",
        "tile-intrinsic-lowering",
        "wgmma takes the buffers that have a swizzle",
    ),
    (
        "tile-barrier-optimization",
        "convert-tile-to-tileas",
        "it places barriers of the tile dialect, which the conversion removes",
    ),
    (
        "convert-cuda-tile-to-tileaa",
        "convert-tileaa-to-tileas",
        "each stage is lowered from the previous one",
    ),
    (
        "tileaa-drop-batches",
        "convert-tileaa-to-tileas",
        "the atoms and warps of a product depend on whether it is one of matrices",
    ),
    ("convert-tileaa-to-tileas", "tileas-schedule", "only nv_tileas loops are scheduled"),
    ("convert-tileaa-to-tileas", "tileas-assign-layouts", "layouts are assigned to nv_tileas ops"),
    (
        "convert-tileaa-to-tileas",
        "tileas-materialize-schedule",
        "it needs products and loads as nv_tileas ops",
    ),
    (
        "tileas-guard-masks",
        "tileas-schedule",
        "the schedule does not count a mask that rarely runs",
    ),
    (
        "tileas-guard-masks",
        "tileas-materialize-tensor-memory",
        "it guards masks in loops with products, of which a consumer's loop has none",
    ),
    (
        "tileas-guard-masks",
        "scf-for-loop-splitting",
        "a mask that is behind a branch stays in its loop",
    ),
    (
        "scf-for-loop-splitting",
        "tileas-assign-layouts",
        "accesses without bounds may be wider, which decides their layouts",
    ),
    (
        "tileas-materialize-schedule",
        "scf-for-loop-splitting",
        "the loads of a producer have no bounds to check",
    ),
    (
        "tileas-materialize-tma-loads",
        "scf-for-loop-splitting",
        "TMA checks bounds itself",
    ),
    ("convert-tile-to-tileas", "tileas-dynamic-persistent", "only kernels of nv_tileas become persistent"),
    ("convert-tileaa-to-tileas", "tileas-dynamic-persistent", "only kernels of nv_tileas become persistent"),
    ("tileas-join-loops", "tileas-split-k", "a kernel with two loops of products is not split"),
    ("tileas-join-loops", "tileas-guard-masks", "it pairs ops of two loops, and a branch hides them"),
    ("tileas-join-loops", "tileas-schedule", "each loop is scheduled by itself"),
    ("tileas-split-k", "plan-cta", "it decides which part of the sums a CTA has"),
    ("plan-cta", "tileas-dynamic-persistent", "the CTAs of a cluster run the same programs"),
    (
        "tileas-cut-products",
        "tileas-dynamic-persistent",
        "the parts of a tile are computed one after the other",
    ),
    (
        "tileas-dynamic-persistent",
        "tileas-resolve-program-ids",
        "it makes the loop that the other pass lowers",
    ),
    (
        "tileas-resolve-program-ids",
        "tileas-deal-programs",
        "it marks the loops whose iterations CTAs deal out",
    ),
    ("tileas-alternate-consumers", "tileas-deal-programs", "each consumer reads the tickets of all"),
    (
        "tileas-resolve-agent-boundary",
        "tileas-deal-programs",
        "agents send numbers to each other in loops with bounds",
    ),
    ("tileas-materialize-tensor-memory", "tileas-deal-programs", "agents are made of loops with bounds"),
    ("tileas-deal-programs", "scf-for-loop-splitting", "a loop whose iterations CTAs deal out stays one"),
    ("tileas-deal-programs", "tileas-assign-layouts", "the counter of programs is an atomic operation"),
    ("tileas-resolve-program-ids", "tileas-schedule", "agents are made of loops with bounds"),
    (
        "tileas-resolve-program-ids",
        "tileas-materialize-tensor-memory",
        "a CTA makes its barriers and takes tensor memory once, in front of the loop over programs",
    ),
    ("tileas-cut-products", "tileas-promote-accumulators", "a part may have registers for its sums twice"),
    (
        "tileas-round-loads",
        "plan-cta",
        "clusters share what TMA brings as factors, and not what threads convert",
    ),
    (
        "tileas-round-loads",
        "tileas-prepare-for-scheduling",
        "each product has loads of its own of what it takes",
    ),
    ("tileas-prepare-for-scheduling", "tileas-swap-operands", "each product has loads of its own"),
    ("tileas-swap-operands", "tileas-promote-accumulators", "a transposed product may lose precision, too"),
    (
        "tileas-promote-accumulators",
        "tileas-order-terms",
        "the sums of a product that is promoted are in the same layout, and are added behind it",
    ),
    ("tileas-swap-operands", "tileas-order-terms", "the left factor of a transposed product is another one"),
    ("tileas-order-terms", "tileas-schedule", "a factor that stays in registers is part of the schedule"),
    (
        "tileas-order-terms",
        "tileas-materialize-schedule",
        "it decides whether the consumer writes a factor to shared memory",
    ),
    (
        "tileas-promote-accumulators",
        "tileas-schedule",
        "the schedule has the additions of partial sums",
    ),
    (
        "sink-negf-through-shapes",
        "tileas-schedule",
        "a negation that wgmma does takes no time of the threads",
    ),
    (
        "sink-negf-through-shapes",
        "tileas-materialize-schedule",
        "wgmma does the negations that stand behind all shapes",
    ),
    (
        "tileas-materialize-schedule",
        "tileas-alternate-consumers",
        "it makes two consumers of one, with its pipelines",
    ),
    (
        "tileas-alternate-consumers",
        "optimize-execution-unit-mapping",
        "the new agent needs warps of its own",
    ),
    (
        "tileas-alternate-consumers",
        "tileas-resolve-agent-boundary",
        "each consumer needs what comes from around the agents",
    ),
    (
        "tileas-materialize-schedule",
        "optimize-execution-unit-mapping",
        "it maps the agents of an agent_switch to warps",
    ),
    (
        "tileas-materialize-schedule",
        "tileas-resolve-agent-boundary",
        "values cross an agent_switch when there is one",
    ),
    (
        "convert-tileaa-to-tileas",
        "tileas-materialize-tensor-memory",
        "it needs products and loads as nv_tileas ops",
    ),
    (
        "tileas-materialize-tensor-memory",
        "optimize-execution-unit-mapping",
        "it maps the agents of an agent_switch to warps",
    ),
    (
        "tileas-materialize-tensor-memory",
        "tileas-resolve-agent-boundary",
        "values cross an agent_switch when there is one",
    ),
    (
        "tileas-materialize-tensor-memory",
        "scf-for-loop-splitting",
        "the loads of a producer have no bounds to check",
    ),
    (
        "tileas-materialize-tensor-memory",
        "tileas-assign-layouts",
        "tiles are laid out over the warps of the agent that computes them",
    ),
    (
        "tileas-resolve-agent-boundary",
        "tileas-assign-layouts",
        "a tile is laid out over the warps of the agent that has it",
    ),
    (
        "optimize-execution-unit-mapping",
        "tileas-assign-layouts",
        "tiles are laid out over the warps that the kernel has in the end",
    ),
    (
        "tileas-schedule",
        "tileas-materialize-schedule",
        "the schedule says when products start and end, and how many buffers their loads have",
    ),
    (
        "tileas-materialize-schedule",
        "tileas-assign-layouts",
        "tiles are laid out over the warps of the agent that computes them",
    ),
    (
        "tileas-materialize-schedule",
        "tileas-materialize-tma-loads",
        "the loads of kernels that become agents are the producer's",
    ),
    (
        "tileas-materialize-tma-loads",
        "tileas-assign-layouts",
        "a tile in shared memory is read in the layout that its users want",
    ),
    (
        "tileas-prepare-for-scheduling",
        "tileas-schedule",
        "the loads and slices that it makes are scheduled",
    ),
    (
        "plan-cta",
        "tileas-schedule",
        "what a CTA computes is scheduled, which is a part of each tile",
    ),
    (
        "convert-tileaa-to-tileas",
        "plan-cta",
        "it sets the kernel_spec, which has the number of CTAs",
    ),
    (
        "tileas-slicing",
        "tileas-schedule",
        "slices are scheduled and pipelined as one iteration",
    ),
    (
        "tileas-remove-buffer-alias",
        "tileas-materialize-pipeline",
        "it counts the shared memory of the buffers that there are, by their names",
    ),
    (
        "tileas-remove-buffer-alias",
        "tileas-insert-barriers",
        "places and barriers are those of a buffer, which an access must name",
    ),
    (
        "tileas-assign-layouts",
        "tileas-remove-layout-conversions",
        "there is no conversion to remove before layouts are assigned",
    ),
    (
        "tileas-assign-layouts",
        "tileas-materialize-pipeline",
        "the layout of a tile determines the swizzle of its stage buffer",
    ),
    (
        "tileas-schedule",
        "tileas-materialize-pipeline",
        "the schedule covers loads and products, which the pipeline replaces by copies and slices",
    ),
    (
        "tileas-remove-layout-conversions",
        "tileas-materialize-tma-stores",
        "a store by TMA saves the conversion before it, if there is one",
    ),
    (
        "tileas-materialize-pipeline",
        "tileas-materialize-tma-stores",
        "the buffers of stores take the shared memory that the stages of operands leave",
    ),
    (
        "tileas-materialize-tma-stores",
        "tileas-insert-barriers",
        "the buffers of stores must be placed, and their accesses ordered",
    ),
    (
        "tileas-materialize-pipeline",
        "tileas-insert-barriers",
        "all buffers and copies must exist before they are placed and ordered",
    ),
    (
        "tileas-insert-barriers",
        "tileas-unwrap-pipeline-iterators",
        "an iterator says of which pipeline a stage is",
    ),
    (
        "tileas-unwrap-pipeline-iterators",
        "convert-nv-tile-func-to-llvm",
        "the conversion of bodies expects slots and phases",
    ),
    (
        "tileas-insert-barriers",
        "tileas-bind-named-barriers",
        "warpgroups take turns where no barrier makes them meet",
    ),
    (
        "tileas-bind-named-barriers",
        "convert-tileas-to-llvm",
        "the conversion emits barriers with their numbers",
    ),
    (
        "tileas-insert-barriers",
        "convert-nv-tile-func-to-llvm",
        "barriers are inserted into nv_tileaa functions",
    ),
    (
        "tileas-insert-barriers",
        "convert-tileas-to-llvm",
        "the conversion expects every buffer to be allocated, and inserts no barriers",
    ),
    (
        "convert-nv-tile-func-to-llvm",
        "convert-tileas-to-llvm",
        "the body conversion expects the function boundary in LLVM types",
    ),
    (
        "convert-tileas-to-llvm",
        "tileas-insert-OCG-knobs",
        "the pragmas stand before the fences and barriers of the final code",
    ),
    (
        "convert-tileas-to-llvm",
        "reconcile-unrealized-casts",
        "only the last conversion completes the chains of casts",
    ),
)
"""(before, after, why): if a pipeline has both passes, `before` runs first. A test checks every pipeline."""


def order_violations(names: Iterable[str], order: Sequence[tuple[str, str, str]] = ORDER) -> list[str]:
    """The violations of the constraints by a list of pass names, one sentence each."""
    first: dict[str, int] = {}
    for position, name in enumerate(names):
        first.setdefault(name, position)
    return [
        f"'{before}' must run before '{after}': {why}"
        for before, after, why in order
        if before in first and after in first and first[before] > first[after]
    ]
