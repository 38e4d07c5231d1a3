#!/usr/bin/env python3
"""Random kernels of matrix products, compiled for sm_90a with TMA and wgmma, or for sm_100a with tcgen05, and without:
both return the results of an interpretation in NumPy, bit for bit, and no launch has a finding.

    Case.random(rng) ──▶ text ──▶ with agents    ──▶ simulated GPU, late and early ──▶ arrays
                             ├──▶ with plain ABI ──▶ simulated GPU ──▶ arrays
                             └──▶ test/reference (NumPy) ──▶ arrays

    python tools/random_products.py [--seconds 60] [--seed N] [--count 0] [--gpu-name sm_90a]

`--seed N --count 1` creates the kernel of that seed again. The exit status is 1 after a failure. The elements are small
integers, so that no sum rounds and the order of the sums does not matter.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "test"), str(Path(__file__).parent)]

import numpy as np  # noqa: E402
from tensors_of_products import Array, Tensor  # noqa: E402

LOOPS = ("steps", "steps", "start", "split", "down", "persistent", "none", "twice", "before", "pointer")
"""The position of the product: in a loop over K; in one that does not start at 0, takes every other tile, or runs in a
loop over the tiles of the output; in no loop; in two loops one after the other; with A loaded before the loop; in a
loop that carries the index of its tile."""
EXTRAS = (
    *[""] * 6, "chain", "chain", "scaled", "two", "branch", "load in branch", "self", "same load", "ordered", "joined",
    "added", "half", "gathered", "gathered", "mixed", "mixed", "causal", "causal", "alias", "partly", "partly",
    "masked",
)  # fmt: skip
"""Further features: a product of a product; an A that is computed; two products in one loop; the product in a branch;
a load in one; B is A's tensor; one tile as both; loads after a store by their token; a store that a load's token is
before, ahead of the product; a B that is the sum of two tiles; a product of a product by a tensor of which nothing is
known; a B whose rows are gathered; a B of which nothing is known beside an A of which all is; the loads and the product
in a branch; C in place of A; a B of which multiples of 4 or 8 bytes are known, so that cp.async copies it; a B of which
only some rows are not zero."""
EPILOGUES = (
    "bias",
    "bias",
    "relu",
    "relu",
    "cast",
    "in place",
    "sum",
    "assert",
    "print",
    "return",
    "atomic",
    "atomic",
)


@dataclass
class Case:
    """One kernel and its extents."""

    element: str
    accumulator: str
    tile: tuple[int, int, int]
    extents: tuple[int, int, int]
    loop: str
    extra: str
    epilogue: frozenset[str]
    a: Tensor
    b: Tensor
    e: Tensor
    d: Tensor
    bias: Tensor
    signs: str = ""
    batches: int = 0

    @staticmethod
    def random(rng: np.random.Generator) -> Case:
        def pick(*of: Any) -> Any:
            return of[int(rng.integers(len(of)))]

        element = pick("f16", "f16", "f16", "bf16", "bf16", "tf32", "f8E4M3FN", "f8E5M2", "i8")
        accumulator = {"i8": "i32", "f16": pick("f32", "f16", "f32")}.get(element, "f32")
        m, n = pick((64, 32), (64, 64), (128, 32), (64, 128), (128, 64), (128, 128), (64, 8), (256, 32), (64, 256),
                    (16, 64), (32, 32), (64, 16), (64, 32), (64, 64), (128, 64))  # fmt: skip
        k = pick(16, 32, 32, 64, 64, 128)
        if rng.integers(10) == 0:
            # B has more rows than a box of TMA, or A has.
            m, n, k = pick((64, 16, 512), (64, 8, 512), (512, 16, 16), (512, 8, 32))
        if m * n * k > 128 * 128 * 32 and rng.integers(4):
            m = 64
        loop, extra = pick(*LOOPS), pick(*EXTRAS)
        if loop in ("none", "before", "persistent", "twice") and extra not in ("", "scaled", "self"):
            extra = ""
        if extra in ("self", "same load", "chain", "half"):
            k = min(k, 128)
            n = k
        if extra == "alias":
            element, accumulator, loop = "f16", "f16", "steps"
            m, n = min(m, 256), min(k, 128)
            k = n
        if extra == "partly":
            element, accumulator = pick("f16", "bf16", "tf32", "i8"), "f32"
            accumulator = "i32" if element == "i8" else accumulator
        if extra == "same load":
            m = n = k = pick(64, 32, 128)
        if extra == "self":
            n = m
        epilogue = frozenset(pick(*EPILOGUES) for _ in range(int(rng.integers(0, 4))))
        batches = pick(0, 0, 0, 2) if extra != "gathered" else 0
        ragged = bool(rng.integers(2))
        M, N, K = m * pick(1, 1, 2), n * pick(1, 1, 1, 2), k * pick(0, 1, 2, 3, 5)
        if ragged:
            M, N, K = max(1, M - int(rng.integers(m))), max(1, N - int(rng.integers(n))), max(
                0, K - int(rng.integers(k))
            )  # fmt: skip
        if rng.integers(12) == 0:
            M, N, K = pick((0, N, K), (M, 0, K), (M, N, 0))
        if extra in ("chain", "half") and accumulator == "f16":
            # The sums of the second product are exact up to 2048.
            K = min(K, 128)
        if extra in ("self", "same load"):
            N = K
        if extra == "partly":
            N, K = (-(-v // 8) * 8 for v in (N, K))
        if extra == "alias":
            # Each block reads only what it writes.
            N = K = min(max(K, 1), k)
        order = ["", "", "permute", "view"]
        a_t, b_t = pick(*order), pick(*order)
        if element in ("tf32", "i8", "f8E4M3FN", "f8E5M2") and rng.integers(3):
            a_t, b_t = "", pick("permute", "view")
        if extra == "self":
            b_t, N = "" if a_t else "view", M
        if extra == "same load":
            a_t = b_t = ""
        if extra == "gathered":
            b_t = ""
        if extra == "alias":
            a_t = ""
            epilogue -= {"in place", "atomic", "cast"}
        if "atomic" in epilogue and (
            accumulator == "f16" or "in place" in epilogue or extra in ("ordered", "joined")
        ):
            epilogue -= {"atomic"}
        assumed = rng.integers(10) > 0

        signs = pick(" signed signed", " unsigned signed", " signed unsigned", " unsigned unsigned")
        return Case.of(
            element, accumulator, (m, n, k), (M, N, K), loop, extra, epilogue, (a_t, b_t, pick("", "view")),
            signs if element == "i8" else "", batches, bool(assumed), pick(0, 0, 1), pick(4, 8),
        )  # fmt: skip

    @staticmethod
    def of(
        element: str,
        accumulator: str,
        tile: tuple[int, int, int],
        extents: tuple[int, int, int],
        loop: str = "steps",
        extra: str = "",
        epilogue: frozenset[str] = frozenset(),
        transposed: tuple[str, str, str] = ("", "", ""),
        signs: str = "",
        batches: int = 0,
        assumed: bool = True,
        slack: int = 0,
        known: int = 4,
    ) -> Case:
        """The kernel of these features: its tensors have the extents and tiles that follow."""
        (m, n, k), (M, N, K) = tile, extents

        def tensor(name: str, e: str, extents: tuple[int, int], tile: tuple[int, int], t: str = "") -> Tensor:
            return Tensor(name, e, extents, tile, t, batches, assumed, True, slack)

        chain = extra in ("chain", "half")
        second = (n, n) if chain else (k, n)
        e_extents = (N, N) if chain else (K, N)
        out = "f16" if "cast" in epilogue and accumulator == "f32" else accumulator
        d = tensor("d", out, (M, N), (m, n))
        d.padding = "in place" in epilogue
        e = tensor("e", element, e_extents, second, transposed[2])
        e.assumed = e.assumed and extra != "half"
        if "atomic" in epilogue:
            d.element, d.padding = accumulator, False
        a, b = (
            tensor("a", element, (M, K), (m, k), transposed[0]),
            tensor("b", element, (K, N), (k, n), transposed[1]),
        )
        b.assumed, b.gathered = b.assumed and extra != "mixed", extra == "gathered"
        b.known = known if extra == "partly" else b.known
        return Case(
            element, accumulator, tile, extents, loop, extra, epilogue, a, b, e,
            a if extra == "alias" else d, Tensor("v", "f32", (1, N), (1, n)),
            signs, batches,
        )  # fmt: skip

    def __str__(self) -> str:
        return (
            f"{self.element}->{self.accumulator} {self.tile} of {self.extents} loop={self.loop} extra={self.extra} "
            f"epilogue={sorted(self.epilogue)} a={self.a.transposed} b={self.b.transposed} z={self.batches} "
            f"assumed={self.a.assumed}{self.signs}"
        )

    @property
    def grid(self) -> tuple[int, int, int]:
        (m, n, _), (M, N, _) = self.tile, self.extents
        rows, columns = max(1, -(-M // m)), max(1, -(-N // n))
        return (rows, 1 if self.loop == "persistent" else columns, max(1, self.batches))

    def mma(self, result: str, a: str, b: str, c: str, a_type: str, b_type: str) -> str:
        op = "mmai" if self.accumulator == "i32" else "mmaf"
        return f"{result} = {op} {a}, {b}, {c}{self.signs} : {a_type}, {b_type}, {self.sum}"

    @property
    def sum(self) -> str:
        return f"tile<{self.tile[0]}x{self.tile[1]}x{self.accumulator}>"

    def tensors(self) -> list[Tensor]:
        used = [self.a]
        if self.extra not in ("self", "same load"):
            used.append(self.b)
        if self.extra in ("chain", "half", "two", "added"):
            used.append(self.e)
        if "bias" in self.epilogue:
            used.append(self.bias)
        return used if self.extra == "alias" else [*used, self.d]

    def step(self, old: str, new: str, k: str, load_a: bool = True, tag: str = "") -> list[str]:
        """One step of the loop: `new` is `old` plus the product of tile k."""
        a, b, extra = f"%a{tag}", f"%b{tag}", self.extra
        lines = self.a.load(a, "%x", k) if load_a else []
        if extra == "self":  # A · Aᵀ
            lines += self.a.load(f"{b}whole", "%y", k)
            lines += [f"{b} = permute {b}whole [1, 0] : {self.a.type} -> {self.b.type}"]
        elif extra == "same load":
            b = a
        elif extra == "load in branch":
            lines += [
                f"%even{tag} = cmpi greater_than {k}, %c0, signed : tile<i32> -> tile<i1>",
                f"{b}Z = constant <{self.element}: {'0' if self.element == 'i8' else '0.0'}> : {self.b.type}",
                f"{b} = if %even{tag} -> ({self.b.type}) {{",
                *self.b.load(f"{b}I", k, "%y"),
                f"yield {b}I : {self.b.type}",
                "} else {",
                f"yield {b}Z : {self.b.type}",
                "}",
            ]
        elif extra == "ordered":
            zero = "0" if self.d.element == "i32" else "0.0"
            lines += [f"%clean{tag} = constant <{self.d.element}: {zero}> : {self.d.type}"]
            lines += self.d.store(f"%clean{tag}", "%x", "%y", f"%cleaned{tag}")
            lines += self.b.load(b, k, "%y", f"%cleaned{tag}")
        else:
            lines += self.b.load(b, k, "%y")
        if extra == "joined":
            zero = "0" if self.d.element == "i32" else "0.0"
            lines += [
                f"%clean{tag} = constant <{self.d.element}: {zero}> : {self.d.type}",
                f"%both{tag} = join_tokens {a if load_a else b}t, {b}t : token",
                *self.d.store(f"%clean{tag}", "%x", "%y", f"%cleaned{tag}", f"%both{tag}"),
            ]
        if extra == "masked":
            # By their numbers within the tile: the first ones are kept, one more for each row of tiles of C.
            zero, shape = "0" if self.element == "i8" else "0.0", f"{self.b.tile[0]}x{self.b.tile[1]}"
            lines += [
                f"%n{tag} = iota : tile<{self.b.tile[0]}xi32>",
                f"%r{tag} = reshape %n{tag} : tile<{self.b.tile[0]}xi32> -> tile<{self.b.tile[0]}x1xi32>",
                f"%s{tag} = broadcast %r{tag} : tile<{self.b.tile[0]}x1xi32> -> tile<{shape}xi32>",
                f"%p{tag} = reshape %x : tile<i32> -> tile<1x1xi32>",
                f"%q{tag} = broadcast %p{tag} : tile<1x1xi32> -> tile<{shape}xi32>",
                f"%kept{tag} = cmpi less_than_or_equal %s{tag}, %q{tag}, signed : tile<{shape}xi32> -> "
                f"tile<{shape}xi1>",
                f"{b}Z = constant <{self.element}: {zero}> : {self.b.type}",
                f"{b}M = select %kept{tag}, {b}, {b}Z : tile<{shape}xi1>, {self.b.type}",
            ]
            b = f"{b}M"
        left = a
        if extra == "causal":
            # The loads are in the branch, too.
            inside = [*lines, self.mma(f"{new}i", a, b, old, self.a.type, self.b.type)]
            return [
                f"%under{tag} = cmpi less_than_or_equal {k}, %x, signed : tile<i32> -> tile<i1>",
                f"{new} = if %under{tag} -> ({self.sum}) {{",
                *inside,
                f"yield {new}i : {self.sum}",
                "} else {",
                f"yield {old} : {self.sum}",
                "}",
            ]
        if extra == "added" and self.element in ("f16", "bf16", "i8"):
            lines += [
                *self.e.load(f"%e{tag}", k, "%y"),
                f"{b}plus = add{'i' if self.element == 'i8' else 'f'} {b}, %e{tag} : {self.b.type}",
            ]
            b = f"{b}plus"
        if extra == "scaled":
            left = f"{a}x"
            if self.element == "i8":
                lines.append(f"{left} = subi {a}, {a} : {self.a.type}")
            elif self.element in ("f16", "bf16"):
                lines.append(f"{left} = addf {a}, {a} : {self.a.type}")
            else:
                left = a
        types = (self.a.type, self.b.type)
        if extra == "branch":
            return [
                *lines,
                f"%odd{tag} = cmpi not_equal {k}, %c1, signed : tile<i32> -> tile<i1>",
                f"{new} = if %odd{tag} -> ({self.sum}) {{",
                self.mma(f"{new}i", left, b, old, *types),
                f"yield {new}i : {self.sum}",
                "} else {",
                f"yield {old} : {self.sum}",
                "}",
            ]
        if extra == "two":
            lines += self.e.load(f"%e{tag}", k, "%y")
            return [
                *lines,
                self.mma(f"{new}h", left, b, old, *types),
                *self.a.load(f"{a}second", "%x", k),
                self.mma(new, f"{a}second", f"%e{tag}", f"{new}h", *types),
            ]
        return [*lines, self.mma(new, left, b, old, *types)]

    def tile_of_output(self) -> list[str]:
        acc = self.accumulator
        lines = [f"%zero = constant <{acc}: {'0' if acc == 'i32' else '0.0'}> : {self.sum}"]

        def loop(
            result: str, init: str, low: str, high: str, step: str, tag: str, load_a: bool = True
        ) -> None:
            nonlocal lines
            lines += [
                f"{result} = for %k{tag} in ({low} to {high}, step {step}) : tile<i32> "
                f"iter_values(%old{tag} = {init}) -> ({self.sum}) {{",
                *self.step(f"%old{tag}", f"%new{tag}", f"%k{tag}", load_a, tag),
                f"continue %new{tag} : {self.sum}",
                "}",
            ]

        match self.loop:
            case "none":
                lines += self.step("%zero", "%sum", "%c0")
            case "start":
                loop("%sum", "%zero", "%c1", "%steps", "%c1", "")
            case "split":
                loop("%sum", "%zero", "%c1", "%steps", "%c2", "")
            case "twice":
                loop("%half", "%zero", "%c0", "%steps", "%c1", "")
                loop("%sum", "%half", "%c1", "%steps", "%c2", "w")
            case "before":
                lines += self.a.load("%a", "%x", "%c0")
                loop("%sum", "%zero", "%c0", "%steps", "%c1", "", load_a=False)
            case "down":
                lines += [
                    "%last = subi %steps, %c1 : tile<i32>",
                    f"%sum = for %kk in (%c0 to %steps, step %c1) : tile<i32> iter_values(%old = %zero) -> "
                    f"({self.sum}) {{",
                    "%k = subi %last, %kk : tile<i32>",
                    *self.step("%old", "%new", "%k"),
                    f"continue %new : {self.sum}",
                    "}",
                ]
            case "pointer":
                lines += [
                    f"%sum, %end = for %kk in (%c0 to %steps, step %c1) : tile<i32> "
                    f"iter_values(%old = %zero, %k = %c0) -> ({self.sum}, tile<i32>) {{",
                    *self.step("%old", "%new", "%k"),
                    "%next = addi %k, %c1 : tile<i32>",
                    f"continue %new, %next : {self.sum}, tile<i32>",
                    "}",
                ]
            case _:
                loop("%sum", "%zero", "%c0", "%steps", "%c1", "")
        return [*lines, *self.end()]

    def end(self) -> list[str]:
        lines: list[str] = []
        value, acc, type = "%sum", self.accumulator, self.sum
        if self.extra in ("chain", "half"):
            (m, n, _), e = self.tile, self.element
            kind = f"tile<{m}x{n}x{e}>"
            if acc == "i32":
                lines += [f"%p = trunci %sum : {type} -> {kind}"]
            elif acc == e:
                lines += [f"%p = addf %sum, %zero : {type}"]
            else:
                lines += [f"%p = ftof %sum : {type} -> {kind}"]
            lines += [
                *self.e.load("%eC", "%c0", "%y"),
                self.mma("%out", "%p", "%eC", "%zero", kind, self.e.type),
            ]
            value = "%out"
        if acc != "i32" and "bias" in self.epilogue:
            m, n, _ = self.tile
            lines += [
                *self.bias.load("%bias", "%c0", "%y"),
                f"%wide = broadcast %bias : tile<1x{n}xf32> -> tile<{m}x{n}xf32>",
            ]
            if acc == "f16":
                lines += [f"%wider = ftof %wide : tile<{m}x{n}xf32> -> {type}"]
            lines += [f"%biased = addf {value}, {'%wider' if acc == 'f16' else '%wide'} : {type}"]
            value = "%biased"
        if acc != "i32" and "relu" in self.epilogue:
            lines += [f"%relu = maxf {value}, %zero : {type}"]
            value = "%relu"
        if "sum" in self.epilogue and acc != "i32":
            m, n, _ = self.tile
            lines += [
                f"%rows = reduce {value} dim=1 identities=[0.0 : {acc}] : {type} -> tile<{m}x{acc}>",
                f"(%l: tile<{acc}>, %r: tile<{acc}>) {{",
                f"%lr = maxf %l, %r : tile<{acc}>",
                f"yield %lr : tile<{acc}>",
                "}",
                f"%column = reshape %rows : tile<{m}x{acc}> -> tile<{m}x1x{acc}>",
                f"%spread = broadcast %column : tile<{m}x1x{acc}> -> {type}",
                f"%summed = addf {value}, %spread : {type}",
            ]
            value = "%summed"
        if self.d.element != acc:
            lines += [f"%small = ftof {value} : {type} -> {self.d.type}"]
            value = "%small"
        token = "%token"
        if "in place" in self.epilogue:
            add = "addi" if self.d.element == "i32" else "addf"
            lines += [*self.d.load("%prior", "%x", "%y"), f"%more = {add} {value}, %prior : {self.d.type}"]
            value, token = "%more", "%priort"
        if "assert" in self.epilogue:
            lines += [
                "%fine = cmpi greater_than_or_equal %x, %c0, signed : tile<i32> -> tile<i1>",
                'assert %fine, "a block" : tile<i1>',
            ]
        if "print" in self.epilogue:
            lines += ['%printed = print_tko "%i\\0A", %x : tile<i32> -> token']
        if "atomic" in self.epilogue:
            return [*lines, *self.d.add(value, "%x", "%y", "%done", token)]
        return [*lines, *self.d.store(value, "%x", "%y", "%done", token)]

    def text(self) -> str:
        (_, n, k), columns = self.tile, "%ar" if self.a.transposed else "%ac"
        used = self.tensors()
        body = self.tile_of_output()
        if self.loop == "persistent":
            body = ["for %y in (%by to %tiles, step %gy) : tile<i32> {", *body, "continue", "}"]
        else:
            body = ["%y = addi %by, %c0 : tile<i32>", *body]
        early = []
        if "return" in self.epilogue:
            early = [
                "%many = constant <i32: 2> : tile<i32>",
                "%stop = cmpi greater_than_or_equal %x, %many, signed : tile<i32> -> tile<i1>",
                "if %stop {",
                "return",
                "}",
            ]
        lines = [
            "%token = make_token : token",
            *(line for tensor in used for line in tensor.make()),
            "%x, %by, %z = get_tile_block_id : tile<i32>",
            "%gx, %gy, %gz = get_num_tile_blocks : tile<i32>",
            "%c0 = constant <i32: 0> : tile<i32>",
            "%c1 = constant <i32: 1> : tile<i32>",
            "%c2 = constant <i32: 2> : tile<i32>",
            f"%ck = constant <i32: {k}> : tile<i32>",
            f"%cn = constant <i32: {n}> : tile<i32>",
            f"%steps = divi {columns}, %ck unsigned rounding<positive_inf> : tile<i32>",
            f"%tiles = divi %{self.d.name}c, %cn unsigned rounding<positive_inf> : tile<i32>",
            *early,
            *body,
            "return",
        ]
        parameters = ", ".join(p for tensor in used for p in tensor.parameters())
        inside = "\n  ".join(lines)
        return f"entry @product({parameters}) {{\n  {inside}\n}}\n"

    def arguments(self, rng: np.random.Generator) -> list[Any]:
        return [value for tensor in self.tensors() for value in tensor.arguments(tensor.array(rng))]


def compiled(text: str, plain: bool, gpu_name: str = "sm_90a") -> Any:
    """(PTX, manifest) of a program."""
    import re

    from programs import worker

    from tessera_tools.emit.driver import Options, compile_module
    from tessera_tools.emit.kernels import kernels_of_module
    from tessera_tools.emit.manifest import Manifest
    from tessera_tools.parser import parse_module
    from tessera_tools.target import lookup

    module = parse_module(text, "program.mlir")
    gpu = lookup(gpu_name)
    options = Options(gpu, until="ptx", plain_abi=plain, verify_each=True)
    ptx = compile_module(module, options, worker=worker()).text("ptx")
    version = re.search(r"^\.version (\S+)", ptx, re.MULTILINE)
    assert version is not None
    return ptx, Manifest(gpu.cpu, version[1], tuple(kernels_of_module(module)))


def launched(
    made: Any, args: list[Any], grid: tuple[int, int, int], mode: str, seed: int, gpu_name: str = "sm_90a"
) -> list[Array]:
    """The arrays after a launch. Raises AssertionError if there are findings."""
    from tessera_tools.runtime import device

    gpu = device("sim", gpu_name=gpu_name, processes=1)
    buffers = [gpu.buffer(v) if isinstance(v, np.ndarray) and v.ndim else None for v in args]
    given = [v if b is None else b for v, b in zip(args, buffers, strict=True)]
    ptx, manifest = made
    kernel = gpu.load(ptx, manifest, file="program.ptx").kernel(None)
    result = kernel.launch(grid, given, seed=seed, mode=mode)
    assert not result.findings, result.findings.text("program")
    return [b.array() for b in buffers if b is not None]


def check(case: Case, seed: int, gpu_name: str = "sm_90a") -> tuple[str | None, bool]:
    """(what is wrong with the compilation of a kernel or None, whether it has wgmma or tcgen05.mma)."""
    from reference.interpreter import UnsupportedError, interpret

    from tessera_tools.diagnostics import DiagnosticError
    from tessera_tools.parser import parse_module

    text, rng = case.text(), np.random.default_rng(seed)
    args = case.arguments(rng)
    try:
        plain = compiled(text, True, gpu_name)
    except DiagnosticError as error:
        return f"plain: {error}", False
    try:
        made = compiled(text, False, gpu_name)
    except Exception as error:  # a fault of the compiler is what this looks for
        return f"agents: {type(error).__name__}: {error}", False
    fast = "wgmma.mma_async" in made[0] or "tcgen05.mma" in made[0]
    results: dict[str, list[Array]] = {}
    try:
        results["NumPy"] = interpret(parse_module(text, "program.mlir"), [
            v.copy() if isinstance(v, np.ndarray) and v.ndim else v for v in args], grid=case.grid)  # fmt: skip
    except (UnsupportedError, IndexError) as error:
        print(f"no interpretation: {error}")
    try:
        results["plain"] = launched(plain, args, case.grid, "late", seed, gpu_name)
    except Exception as error:
        return f"plain: {type(error).__name__}: {error}", fast
    for mode in ("late", "early") if fast else ("late",):
        try:
            results[mode] = launched(made, args, case.grid, mode, seed, gpu_name)
        except Exception as error:
            return f"agents, {mode}: {type(error).__name__}: {error}", fast
    for name, found in results.items():
        for number, (x, y) in enumerate(zip(found, results["plain"], strict=True)):
            if x.tobytes() != y.tobytes():
                return f"{name} differs from plain in array {number}: {int(np.sum(x != y))} of {x.size}", fast
    return None, fast


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--gpu-name", default="sm_90a")
    options = parser.parse_args()
    begin, number, failures, counts = time.monotonic(), 0, 0, Counter[str]()
    while (number < options.count) if options.count else time.monotonic() - begin < options.seconds:
        seed = options.seed + number
        number += 1
        case = Case.random(np.random.default_rng(seed))
        problem, fast = check(case, seed, options.gpu_name)
        counts["agents" if fast else "plain"] += 1
        if problem is not None:
            failures += 1
            print(f"seed {seed}: {case}\n  {problem[:1500]}", flush=True)
    print(f"{number} kernels from seed {options.seed}, {dict(counts)}: {failures} failures")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
