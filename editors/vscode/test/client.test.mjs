// What the extension does with the answers of the server, without VS Code: the server is `tessera-lsp` on PATH.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";

import protocol from "vscode-languageserver-protocol/node";

import { isShown, pathOf, startFailure } from "../src/shown.ts";

describe("results of commands", () => {
  it("have a name for each title, so that the same command shows the new text there", () => {
    const shown = { title: "RUN: tessera-opt %s --cse (succeeded)", text: "", language: "mlir", status: 0 };
    assert.equal(pathOf(shown), "/RUN tessera-opt %s --cse.mlir");
    assert.equal(pathOf({ ...shown, title: "RUN: tessera-opt %s --cse (exit status 1)" }), pathOf(shown));
    assert.equal(pathOf({ ...shown, title: "ptx for sm_90a", language: "ptx" }), "/ptx for sm_90a.ptx");
  });

  it("never name another folder", () => {
    const path = pathOf({ title: "RUN: tessera-opt ../../etc/%s", text: "", language: "other" });
    assert.equal(path.lastIndexOf("/"), 0);
    assert.ok(path.endsWith(".txt"));
  });

  it("are not shown if they are something else", () => {
    for (const result of [null, undefined, 3, "text", {}, { title: "a", text: 3, language: "mlir" }]) {
      assert.equal(isShown(result), false);
    }
  });
});

it("a server that does not start names the program, the reason, and what to do", () => {
  const message = startFailure("/no/tessera-lsp", "spawn ENOENT");
  for (const part of ["/no/tessera-lsp", "spawn ENOENT", "pip install 'tessera-tools[lsp]'", "tessera.server.path"]) {
    assert.ok(message.includes(part));
  }
});

const found = await new Promise((resolve) => {
  const child = spawn("tessera-lsp", ["--help"], { stdio: "ignore" });
  child.on("error", () => resolve(false));
  child.on("exit", () => resolve(true));
});

describe("the server", { skip: found ? false : "tessera-lsp is not on PATH" }, () => {
  const uri = "file:///folder/vector_add.mlir";
  const diagnostics = [];
  let child;
  let connection;
  let initialized;

  before(async () => {
    child = spawn("tessera-lsp", [], { stdio: ["pipe", "pipe", "ignore"] });
    connection = protocol.createProtocolConnection(
      new protocol.StreamMessageReader(child.stdout),
      new protocol.StreamMessageWriter(child.stdin),
    );
    connection.onNotification("textDocument/publishDiagnostics", (params) => diagnostics.push(params));
    connection.listen();
    initialized = await connection.sendRequest("initialize", { processId: null, rootUri: null, capabilities: {} });
    await connection.sendNotification("initialized", {});
    const text = await readFile(new URL("../../../examples/vector_add.mlir", import.meta.url), "utf8");
    const item = { uri, languageId: "mlir", version: 1, text: `// RUN: tessera-opt %s --cse\n${text}` };
    await connection.sendNotification("textDocument/didOpen", { textDocument: item });
  });

  after(async () => {
    await connection.sendRequest("shutdown");
    await connection.sendNotification("exit");
    const status = await new Promise((resolve) => child.on("exit", resolve));
    assert.equal(status, 0);
  });

  it("has the commands that the extension calls", () => {
    const { commands } = initialized.capabilities.executeCommandProvider;
    assert.deepEqual([...commands].sort(), ["tessera.runLine", "tessera.showStage"]);
  });

  it("answers every code lens with something to show", async () => {
    const lenses = await connection.sendRequest("textDocument/codeLens", { textDocument: { uri } });
    assert.equal(lenses.length, 3);
    for (const { command } of lenses) {
      const params = { command: command.command, arguments: command.arguments };
      const result = await connection.sendRequest("workspace/executeCommand", params);
      assert.ok(isShown(result), command.title);
      assert.ok(result.text.includes("@vector_add") || result.text.includes(".entry vector_add"), command.title);
      assert.equal(result.status ?? 0, 0);
    }
  });

  it("reports no errors of the example", () => {
    assert.deepEqual(
      diagnostics.flatMap((one) => one.diagnostics),
      [],
    );
  });
});
