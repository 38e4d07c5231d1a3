import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { describe, it } from "node:test";

import { scopeOf, tokenize } from "./grammar.mjs";

const EXAMPLES = new URL("../../../examples/", import.meta.url);
const examples = (await readdir(EXAMPLES)).filter((name) => name.endsWith(".mlir"));

const UNDECLARED = "entity.name.function.undeclared";
const OPERATION = /^(storage\.type\.function|keyword\.control|support\.function|string\.quoted\.double\.operation)$/;

describe("operations", () => {
  const cases = [
    ["%c = arith.addi %a, %b : i32", "addi", "support.function"],
    ["%c = addf %a, %b : tile<4xf32>", "addf", "support.function"],
    ["%x, %done = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token", "load_ptr_tko", "support.function"],
    ["%q:2 = scf.for %i = %a to %b step %c {", "for", "keyword.control"],
    ["  for %i in (%a to %b, step %c) : tile<i32> {", "for", "keyword.control"],
    ["  return", "return", "keyword.control"],
    ["^bb0: cf.br ^bb1", "br", "keyword.control"],
    ["entry @f(%a: tile<ptr<f32>>) {", "entry", "storage.type.function"],
    ["func.func private @f(i32)", "func", "storage.type.function"],
    ['%r = "test.op"(%a) : (i32) -> i32', '"test.op"', "string.quoted.double.operation"],
    ["nv_tileas.async.pipeline.yield %a : i32", "async.pipeline.yield", "keyword.control"],
    ["%r = nvvm.mma.sync A[%a] : i32", "mma.sync", "support.function"],
    ["llvm.mlir.global @g() : i32", "mlir.global", "storage.type.function"],
    ["scf.if %c { %d = tile.add %a, %b : i32 }", "add", "support.function"],
  ];
  for (const [line, word, scope] of cases) {
    it(`${word} in: ${line}`, async () => assert.equal(await scopeOf(word, line), scope));
  }

  it("one that no dialect declares has a scope of its own", async () => {
    assert.equal(await scopeOf("arith.frobnicate", "%c = arith.frobnicate %a : i32"), UNDECLARED);
  });

  it("a name without its dialect is one only where a statement begins", async () => {
    assert.notEqual(await scopeOf("add", "%r = atomic_rmw_tko relaxed device %p, add, %x : i32"), "support.function");
    assert.notEqual(await scopeOf("select", "module attributes {select = 3} {"), "support.function");
  });

  it("an attribute with a dialect is none", async () => {
    const scope = await scopeOf("nv_tileaa.compute_capability", "module attributes {nv_tileaa.compute_capability = 90} {");
    assert.equal(scope, "entity.other.attribute-name");
  });
});

describe("names, types and constants", () => {
  const cases = [
    ["%b = arith.addi %a#1, %a : i32", "%a", "variable.other"],
    ["%b = arith.addi %a#1, %a : i32", "#1", "constant.numeric"],
    ["func.call @callee(%a) : (i32) -> ()", "@callee", "entity.name.function"],
    ['func.call @"a name"(%a) : (i32) -> ()', '@"a name"', "entity.name.function"],
    ["cf.br ^next(%a : i32)", "^next", "entity.name.label"],
    ["%c = arith.constant 1.5e-3 : f32", "1.5e-3", "constant.numeric"],
    ["%c = arith.constant 0xFF : i32", "0xFF", "constant.numeric"],
    ["%c = arith.constant true", "true", "constant.language"],
    ["%t: tensor<4x?x8xbf16>", "4x?x8x", "constant.numeric.dimension"],
    ["%t: tensor<4x?x8xbf16>", "bf16", "support.type.builtin"],
    ["%t: tensor<4x?x8xbf16>", "tensor", "support.type.composite"],
    ["%t: vector<[4]xsi13>", "vector", "support.type.composite"],
    ["%t: tile<16xptr<f16>>", "ptr", "support.type"],
    ["%t: !cuda_tile.tile<4xf32>", "tile", "support.type"],
    ["%p: !llvm.ptr<3>", "ptr", "support.type"],
    ["%t: !alias", "!alias", "entity.name.type.alias"],
    ["#map = affine_map<(d0) -> (d0)>", "#map", "entity.name.constant.alias"],
    ["#map = affine_map<(d0) -> (d0)>", "affine_map", "support.constant.attribute"],
    ["%x, %t = load_view_tko weak %v[%i] : i32", "weak", "keyword.other"],
    ["%x = addf %a, %b rounding<nearest_even> : f32", "nearest_even", "support.constant"],
    ["%x = tile.block_id {axis = 1 : i64} : index", "index", "support.type.builtin"],
  ];
  for (const [line, word, scope] of cases) {
    it(`${word} in: ${line}`, async () => assert.equal(await scopeOf(word, line), scope));
  }

  it("an escape in a string", async () => {
    assert.equal(await scopeOf("\\0A", '%f = "a.b"(%c) {text = "line\\0A"} : () -> ()'), "constant.character.escape");
  });

  it("a string that is not closed ends with its line", async () => {
    const [, second] = await tokenize('func.func @f() attributes {a = "open\nreturn');
    assert.equal(second[0].scope, "keyword.control");
  });
});

describe("comments", () => {
  it("a RUN line has its programs and options", async () => {
    const line = "// RUN: tessera-opt %s --cse | FileCheck %s";
    assert.equal(await scopeOf("RUN:", line), "keyword.other.run");
    assert.equal(await scopeOf("tessera-opt", line), "support.function.program");
    assert.equal(await scopeOf("--cse", line), "variable.parameter.option");
    assert.equal(await scopeOf("%s", line), "variable.language.substitution");
  });

  it("a check has its directive", async () => {
    assert.equal(await scopeOf(" CHECK-NEXT:", "  // CHECK-NEXT: return"), "keyword.other.directive");
    assert.equal(await scopeOf(" expected-error", "// expected-error @+1 {{no}}"), "keyword.other.directive");
  });

  it("what looks like code in one is none", async () => {
    for (const token of (await tokenize("return // arith.addi %a \"open")).flat().slice(1)) {
      assert.ok(token.scopes.some((scope) => scope.startsWith("comment.")) || token.text.trim() === "", token.text);
    }
  });

  it("the line between two programs is a separator", async () => {
    assert.equal(await scopeOf("// -----", "// -----"), "comment.line.double-slash.separator");
  });
});

describe("examples", () => {
  for (const name of examples) {
    it(name, async () => {
      const text = await readFile(new URL(name, EXAMPLES), "utf8");
      const lines = await tokenize(text);
      let operations = 0;
      for (const [number, tokens] of lines.entries()) {
        const at = `${name}:${number + 1}`;
        for (const token of tokens) {
          assert.notEqual(token.scope, UNDECLARED, `${at}: ${token.text}`);
        }
        // A statement with results: an operation follows the `=`.
        const results = /^\s*(?:%[\w$.-]+(?::\d+)?\s*,\s*)*%[\w$.-]+(?::\d+)?\s*=\s*(?:[a-z_]\w*\.)?([a-z_][\w.$]*)/.exec(
          tokens.map((token) => token.text).join(""),
        );
        if (results !== null) {
          const head = tokens.find((token) => OPERATION.test(token.scope));
          assert.ok(head?.text.endsWith(results[1]), `${at}: ${results[1]} is no operation`);
          operations += 1;
        }
        // Nothing but white space and punctuation is without a scope.
        for (const token of tokens.filter((one) => one.scopes.length === 1)) {
          assert.match(token.text, /^[\s\p{P}\p{S}]*$/u, `${at}: '${token.text}' has no scope`);
        }
      }
      assert.ok(operations > 0);
    });
  }
});

describe("Markdown", () => {
  it("a block of MLIR has its tokens, and ends", async () => {
    const lines = await tokenize("```mlir\n  return\n```\nreturn", "markdown.mlir.codeblock");
    assert.ok(lines[1].some((token) => token.text === "return" && token.scope === "keyword.control"));
    assert.ok(!lines[3].some((token) => token.scope === "keyword.control"));
  });
});
