"""Effects as op classes declare them, and the questions that passes ask of them."""

from __future__ import annotations

import pytest

from tessera_tools.dialects import arith, llvm, memref, nv_tileas, scf, tile
from tessera_tools.ir.core import Operation
from tessera_tools.ir.effects import (
    Completion,
    Kind,
    MemoryEffects,
    Resource,
    accesses,
    declared,
    is_needed,
    is_pure,
    is_trivially_dead,
    memory_effects,
    read,
    write,
)
from tessera_tools.opdef import ANY_TYPE, Op, operand
from tessera_tools.opdef.dialect import all_dialects
from tessera_tools.parser import parse_module


def ops_of(body: str, *, parameters: str = "%p: !llvm.ptr<3>, %q: !llvm.ptr, %i: i32") -> list[Operation]:
    """The ops of a function."""
    text = f"llvm.func @f({parameters}) {{\n{body}\nllvm.return\n}}"
    module = parse_module(text, "f.mlir", allow_unregistered=True)
    [function] = (op for op in module.walk() if op.name == "llvm.func")
    return list(function.regions[0].entry)[:-1]


def test_the_resource_is_what_the_type_of_the_operand_says() -> None:
    shared, generic = ops_of("%0 = llvm.load %p : !llvm.ptr<3> -> i32\n%1 = llvm.load %q : !llvm.ptr -> i32")
    [(effect, value)] = accesses(shared)
    assert (effect.kind, effect.resource, value) == (Kind.READ, Resource.SHARED, shared.operand(0))
    [(effect, _)] = accesses(generic)
    assert effect.resource is Resource.MEMORY


def test_an_op_without_a_declaration_may_do_anything() -> None:
    [op] = ops_of('"t.any"(%p) : (!llvm.ptr<3>) -> ()')
    assert op.effects() is None
    assert memory_effects(op) is None
    assert not op.is_speculatable()
    found = {(effect.kind, effect.resource) for effect, _ in accesses(op)}
    expected = {
        (Kind.READ, Resource.SHARED),
        (Kind.WRITE, Resource.SHARED),
        (Kind.WRITE, Resource.ORDER),
    }
    assert found == expected


def test_effects_of_regions_are_those_of_all_their_ops() -> None:
    """The last op of a block counts, too, if it is no terminator."""
    known, unknown, last = ops_of(
        """"scf.if"(%c) ({ %0 = "arith.addi"(%i, %i) : (i32, i32) -> i32 "scf.yield"() : () -> () }, {}) : (i1) -> ()
        "scf.if"(%c) ({ "unit.any"() : () -> () "scf.yield"() : () -> () }, {}) : (i1) -> ()
        "scf.if"(%c) ({ "unit.any"() : () -> () }, {}) : (i1) -> ()""",
        parameters="%c: i1, %i: i32",
    )
    assert is_pure(known)
    assert memory_effects(unknown) is None
    assert memory_effects(last) is None


@pytest.mark.parametrize("words", ["volatile", "atomic"])
def test_volatile_and_atomic_loads_keep_their_place(words: str) -> None:
    text = "volatile %p" if words == "volatile" else "%p atomic monotonic {alignment = 4 : i64}"
    plain, ordered = ops_of(
        f"%0 = llvm.load %p : !llvm.ptr<3> -> i32\n%1 = llvm.load {text} : !llvm.ptr<3> -> i32"
    )
    assert is_trivially_dead(plain)
    assert not is_trivially_dead(ordered)
    assert memory_effects(ordered) == {Kind.READ, Kind.WRITE}


def test_unordered_atomic_loads_may_go() -> None:
    [op] = ops_of("%0 = llvm.load %p atomic unordered {alignment = 4 : i64} : !llvm.ptr<3> -> i32")
    assert is_trivially_dead(op)


def test_inline_assembly_has_effects_if_it_says_so() -> None:
    with_effects, without = ops_of(
        '%0 = llvm.inline_asm has_side_effects "mov.u32 $0, $1;", "=r,r" %i : (i32) -> i32\n'
        '%1 = llvm.inline_asm "mov.u32 $0, $1;", "=r,r" %i : (i32) -> i32'
    )
    assert is_needed(with_effects, memory_effects(with_effects))
    assert is_pure(without)
    assert not without.is_speculatable()


@pytest.mark.parametrize(
    "semantics,dead", [("weak", True), ("relaxed device", False), ("acquire sys", False)]
)
def test_loads_of_tiles_that_are_not_weak_are_kept(semantics: str, dead: bool) -> None:
    module = parse_module(
        "cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>) {"
        f"%v, %t = load_ptr_tko {semantics} %p : tile<ptr<f32>> -> tile<f32>, token\nreturn }} }}",
        "k.mlir",
    )
    [load] = (op for op in module.walk() if op.name == "cuda_tile.load_ptr_tko")
    assert is_trivially_dead(load) == dead


def test_the_traits_of_a_class_and_its_bases_count_together() -> None:
    class Base(Op, traits=(MemoryEffects(read("a")),)):
        pass

    class Both(Base, name="t.both", traits=(MemoryEffects(write("a"), speculatable=True),)):
        a = operand(ANY_TYPE)

    effects = declared(Both)
    assert effects is not None
    assert effects.kinds == {Kind.READ, Kind.WRITE}
    assert not effects.speculatable


def test_a_field_that_is_not_there_is_refused() -> None:
    with pytest.raises(
        TypeError, match="t.wrong: an effect is on 'buffer', which is not an operand or result of the op"
    ):

        class _Wrong(Op, name="t.wrong", traits=(MemoryEffects(read("buffer")),)):
            a = operand(ANY_TYPE)


def test_waits_say_how_many_groups_they_leave() -> None:
    [wait] = ops_of("nv_tileas.async.wait_group 3")
    effects = wait.effects()
    assert effects is not None
    [effect] = effects.own
    assert (effect.kind, effect.completion, effect.pending) == (Kind.WAIT, Completion.GROUP, 3)


@pytest.mark.parametrize(
    ("flags", "awaited"), [("read", {Completion.BULK_READ}), ("", {Completion.BULK_READ, Completion.BULK})]
)
def test_a_wait_for_stores_to_have_read_is_none_for_their_writes(
    flags: str, awaited: set[Completion]
) -> None:
    [wait] = ops_of(f"nv_tileas.async.store_wait 2 {flags}")
    effects = wait.effects()
    assert effects is not None
    assert {(effect.completion, effect.pending) for effect in effects.own} == {(one, 2) for one in awaited}


def test_copies_are_complete_later() -> None:
    effects = declared(nv_tileas.AsyncTiledCopy)
    assert effects is not None
    by = {effect.kind: effect.completion for effect in effects.own}
    assert by == {Kind.READ: Completion.AT_ONCE, Kind.WRITE: Completion.GROUP}


def test_a_division_is_speculatable_only_with_a_divisor_that_is_known() -> None:
    divide, known = ops_of(
        "%z = arith.constant 4 : i32\n%0 = arith.divui %i, %i : i32\n%1 = arith.divui %i, %z : i32"
    )[1:]
    assert not divide.is_speculatable()
    assert known.is_speculatable()


def test_every_effect_prints() -> None:
    assert str(declared(tile.CpAsync)) == "MemoryEffects(read `source`, write `dest` by group)"
    assert str(declared(scf.For)) == "MemoryEffects(those of its regions)"
    assert str(declared(memref.Load)) == "MemoryEffects(read `memref` (by thread))"


def test_all_dialects_declare_fields_that_exist() -> None:
    count = 0
    for dialect in all_dialects():
        for kind in dialect.ops.values():
            effects = declared(kind)
            count += effects is not None
            for effect in effects.own if effects is not None else ():
                assert effect.on is None or effect.on in kind.definition.fields, kind.name
    assert count > 500
    assert declared(arith.AddI) is not None and declared(llvm.Load) is not None
