"""synthesize-debug-info-scopes: which file, line and function each operation gets."""

from __future__ import annotations

from tessera_tools.cli.opt import run


def scopes(text: str) -> str:
    """The program with the locations that the pass makes, each written out where it stands."""
    done = run(
        ["-", "--synthesize-debug-info-scopes", "--mlir-print-debuginfo", "--mlir-print-local-scope"],
        stdin=text.encode(),
    )
    assert done.exit_code == 0, done.stderr.decode()
    return done.stdout.decode()


def test_positions_stay_and_get_the_kernel_as_scope() -> None:
    out = scopes(
        'cuda_tile.module @m { entry @k() { return loc("a/k.py":7:3) } loc("a/k.py":5:1) } loc("m.py":1:1)'
    )
    assert (
        'loc("a/k.py":7:3) in #cuda_tile.di_subprogram<file = #cuda_tile.di_file<"k.py" in "a">, line = 5'
        in out
    )
    assert (
        'compileUnit = #cuda_tile.di_compile_unit<file = #cuda_tile.di_file<"m.py" in "">>, scopeLine = 5'
        in out
    )


def test_what_has_no_position_takes_the_kernels() -> None:
    out = scopes('cuda_tile.module @m { entry @k() { return loc(unknown) } loc("k.py":5:1) } loc("k.py":1:1)')
    assert out.count('loc("k.py":5:1) in') == 2


def test_a_call_counts_where_it_is_made() -> None:
    text = 'return loc(callsite("f.py":1:1 at "k.py":8:2))'
    out = scopes(f'cuda_tile.module @m {{ entry @k() {{ {text} }} loc("k.py":5:1) }} loc("k.py":1:1)')
    assert 'loc("k.py":8:2) in' in out


def test_without_any_position_the_file_is_unknown() -> None:
    out = scopes("cuda_tile.module @m { entry @k() { return loc(unknown) } loc(unknown) } loc(unknown)")
    assert '#cuda_tile.di_file<"<unknown>" in "">, line = 1, name = "k", linkageName = "k"' in out
