"""What accesses and loops say in metadata, against `mlir-translate`: the nodes of each instruction, expanded."""

from __future__ import annotations

import random
import re
import subprocess

import pytest
from programs import fresh_seed

from oracles import require_tool
from tessera_tools.cli.opt import run as opt
from tessera_tools.cli.translate import run as translate

ALIASING = """
#domain = #llvm.alias_scope_domain<id = distinct[0]<>, description = "The domain">
#named = #llvm.alias_scope_domain<id = "named">
#a = #llvm.alias_scope<id = distinct[1]<>, domain = #domain, description = "a">
#b = #llvm.alias_scope<id = distinct[2]<>, domain = #domain>
#c = #llvm.alias_scope<id = "c", domain = #named>
#group = #llvm.access_group<id = distinct[3]<>>
#other = #llvm.access_group<id = distinct[4]<>>
#root = #llvm.tbaa_root<id = "Simple C++ TBAA">
#anonymous = #llvm.tbaa_root
#char = #llvm.tbaa_type_desc<id = "char", members = {<#root, 0>}>
#int = #llvm.tbaa_type_desc<id = "int", members = {<#char, 0>}>
#pair = #llvm.tbaa_type_desc<id = "pair", members = {<#int, 0>, <#int, 4>}>
#long = #llvm.tbaa_type_desc<id = "long", members = {<#anonymous, 0>}>
#second = #llvm.tbaa_tag<base_type = #pair, access_type = #int, offset = 4>
#whole = #llvm.tbaa_tag<base_type = #long, access_type = #long, offset = 0, constant = true>
llvm.func @g(!llvm.ptr)
llvm.func @f(%p: !llvm.ptr, %q: !llvm.ptr, %x: i32, %n: i64, %c: i8) {
  llvm.intr.experimental.noalias.scope.decl #a
  llvm.store %x, %p {alias_scopes = [#a], noalias_scopes = [#b, #c]} : i32, !llvm.ptr
  %0 = llvm.load %q {alias_scopes = [#b], access_groups = [#group], tbaa = [#second]} : !llvm.ptr -> i32
  %1 = llvm.load %q {tbaa = [#whole], access_groups = [#group, #other]} : !llvm.ptr -> i64
  %2 = llvm.atomicrmw add %p, %0 monotonic {alias_scopes = [#c]} : !llvm.ptr, i32
  %3 = llvm.cmpxchg %p, %0, %2 acq_rel monotonic {noalias_scopes = [#a, #b]} : !llvm.ptr, i32
  "llvm.intr.memcpy"(%p, %q, %n) <{isVolatile = false, alias_scopes = [#a]}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  "llvm.intr.memset"(%p, %c, %n) <{isVolatile = false, tbaa = [#second]}> : (!llvm.ptr, i8, i64) -> ()
  llvm.call @g(%p) {noalias_scopes = [#b]} : (!llvm.ptr) -> ()
  llvm.br ^bb1 {loop_annotation = #llvm.loop_annotation<mustProgress = true, parallelAccesses = #group, #other>}
^bb1:
  llvm.return
}
"""

_NODE = re.compile(r"!(\d+)")


def translated(text: str) -> str:
    """The LLVM IR of tessera-translate; raises AssertionError with its errors."""
    done = translate(["--mlir-to-llvmir", "-"], text.encode())
    assert done.exit_code == 0, done.stderr.decode()
    return done.stdout.decode()


def upstream(text: str) -> str:
    command = [require_tool("mlir-translate-22"), "--mlir-to-llvmir", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def metadata_of(text: str) -> list[list[str]]:
    """For each instruction with metadata, in order: its nodes, expanded, those of a list in any order."""
    nodes = dict(re.findall(r"^!(\d+) = (.*)$", text, re.MULTILINE))

    def expanded(number: str, around: tuple[str, ...] = ()) -> str:
        if number in around:
            return f"self^{len(around) - around.index(number)}"
        body = nodes[number]
        inner = re.sub(r"^(distinct )?!\{(.*)\}$", r"\2", body)
        parts = [_NODE.sub(lambda m: expanded(m[1], (*around, number)), part) for part in inner.split(", ")]
        if parts and parts[0].startswith("self"):
            parts[1:] = sorted(parts[1:])
        return ("distinct " if body.startswith("distinct") else "") + f"{{{', '.join(parts)}}}"

    found: list[list[str]] = []
    for line in text.splitlines():
        pairs = re.findall(r"!([a-z][\w.]*) !(\d+)", line) + re.findall(r"(metadata) !(\d+)", line)
        if line.startswith("  ") and pairs:
            found.append(sorted(f"{word} {expanded(number)}" for word, number in pairs))
    return found


def test_aliasing_reaches_llvm_ir() -> None:
    found = metadata_of(translated(ALIASING))
    assert len(found) == 10
    assert found == metadata_of(upstream(ALIASING))


def test_two_tags_on_one_access_are_refused() -> None:
    text = ALIASING.replace("tbaa = [#second]}", "tbaa = [#second, #whole]}")
    done = translate(["--mlir-to-llvmir", "-"], text.encode())
    assert done.exit_code == 1
    assert b"'llvm.load' op has 2 TBAA tags, of which LLVM IR has one" in done.stderr


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("#llvm.alias_scope<id = 1 : i32, domain = #llvm.alias_scope_domain<id = \"d\">>",
         "id of an alias scope must be a StringAttr or a DistrinctAttr"),
        ("#llvm.alias_scope<id = \"s\", domain = #llvm.tbaa_root>", "expected an alias scope domain as 'domain'"),
        ("#llvm.access_group<id = \"g\">", "id of an access group must be a DistinctAttr"),
        ("#llvm.tbaa_type_desc<id = \"t\", members = {<1 : i32, 0>}>", "expected a TBAA root or type descriptor"),
        ("#llvm.tbaa_tag<base_type = #llvm.tbaa_root, access_type = #llvm.tbaa_root, offset = 0>",
         "expected a TBAA type descriptor as 'base_type'"),
        ("#llvm.loop_annotation<unroll = 1 : i32>", "expected a '#llvm.loop_unroll' attribute, found '1 : i32'"),
        ("#gpu.object<#nvvm.target, properties = 1 : i32, \"x\">", "expected a dictionary as properties"),
        ("#llvm.loop_unroll<count = \"4\">",
         "expected a '#builtin.integer' attribute as 'count' of '#llvm.loop_unroll', found '\"4\"'"),
    ],
)  # fmt: skip
def test_invalid_attributes(attribute: str, message: str) -> None:
    done = opt(["-"], f"module attributes {{x.a = {attribute}}} {{}}".encode())
    assert done.exit_code == 1
    assert message in done.stderr.decode()


def test_a_function_with_alias_scopes_is_not_inlined() -> None:
    """A copy of a scope would promise more than the scope does: it is one of a single execution."""
    text = """
#d = #llvm.alias_scope_domain<id = distinct[0]<>>
#s = #llvm.alias_scope<id = distinct[1]<>, domain = #d>
func.func private @f(%p: !llvm.ptr) -> i32 {
  %0 = llvm.load %p WHAT : !llvm.ptr -> i32
  return %0 : i32
}
func.func @g(%p: !llvm.ptr) -> i32 {
  %0 = call @f(%p) : (!llvm.ptr) -> i32
  return %0 : i32
}
"""
    scoped, plain = (
        opt(["--inline", "-"], text.replace("WHAT", what).encode()).stdout.decode()
        for what in ("{alias_scopes = [#s]}", "")
    )
    assert "call @f" in scoped
    assert "call @f" not in plain


# -- loops

_FOLLOWUP = "<disableNonforced = true>"
_LOOPS = {
    "vectorize": ("disable", "predicateEnable", "scalableEnable", "width", "followupVectorized", "followupEpilogue",
                  "followupAll"),
    "interleave": ("count",),
    "unroll": ("disable", "count", "runtimeDisable", "full", "followupUnrolled", "followupRemainder", "followupAll"),
    "unrollAndJam": ("disable", "count", "followupOuter", "followupInner", "followupRemainderOuter",
                     "followupRemainderInner", "followupAll"),
    "licm": ("disable", "versioningDisable"),
    "distribute": ("disable", "followupCoincident", "followupSequential", "followupFallback", "followupAll"),
    "pipeline": ("disable", "initiationinterval"),
    "peeled": ("count",),
    "unswitch": ("partialDisable",),
}  # fmt: skip


def random_annotation(rng: random.Random) -> str:
    parts: list[str] = []
    for group, keys in _LOOPS.items():
        if rng.random() < 0.4:
            continue
        inner: list[str] = []
        for key in keys:
            if group != "interleave" and rng.random() < 0.3:
                continue
            if key in ("width", "count", "initiationinterval"):
                value = f"{rng.randint(1, 64)} : i32"
            elif key.startswith("followup"):
                value = _FOLLOWUP
            else:
                value = rng.choice(("true", "false"))
            inner.append(f"{key} = {value}")
        if inner:
            parts.append(f"{group} = <{', '.join(inner)}>")
    for key in ("disableNonforced", "mustProgress", "isVectorized"):
        if rng.random() < 0.7:
            parts.append(f"{key} = {rng.choice(('true', 'false'))}")
    return f"#llvm.loop_annotation<{', '.join(parts or ['mustProgress = true'])}>"


def test_loop_annotations_reach_llvm_ir() -> None:
    rng = random.Random(fresh_seed("annotations"))
    functions = [
        f"llvm.func @f{i}() {{\n  llvm.br ^bb1 {{loop_annotation = {random_annotation(rng)}}}\n^bb1:\n  llvm.return\n}}"
        for i in range(40)
    ]
    text = "\n".join(functions)
    assert len(metadata_of(upstream(text))) == len(functions)
    assert metadata_of(translated(text)) == metadata_of(upstream(text))
