// The grammar as VS Code reads it: vscode-textmate with the regular expressions of Oniguruma.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

import oniguruma from "vscode-oniguruma";
import textmate from "vscode-textmate";

const require = createRequire(import.meta.url);
const FILES = {
  "source.mlir": "../syntaxes/mlir.tmLanguage.json",
  "markdown.mlir.codeblock": "../syntaxes/markdown.mlir.tmLanguage.json",
};

const wasm = await readFile(require.resolve("vscode-oniguruma/release/onig.wasm"));
await oniguruma.loadWASM(wasm);

const registry = new textmate.Registry({
  onigLib: Promise.resolve({
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  }),
  loadGrammar: async (scope) => {
    if (!(scope in FILES)) {
      return null;
    }
    const path = new URL(FILES[scope], import.meta.url);
    return textmate.parseRawGrammar(await readFile(path, "utf8"), path.pathname);
  },
});

/** The tokens of a text by line: [{ text, scope }], scope being the innermost one without `.mlir`. */
export async function tokenize(text, scope = "source.mlir") {
  const grammar = await registry.loadGrammar(scope);
  let state = textmate.INITIAL;
  return text.split("\n").map((line) => {
    const read = grammar.tokenizeLine(line, state);
    state = read.ruleStack;
    return read.tokens.map((token) => ({
      text: line.slice(token.startIndex, token.endIndex),
      scope: token.scopes.at(-1).replace(/\.mlir$/, ""),
      scopes: token.scopes,
    }));
  });
}

/** The scope of the last token with this text; undefined if no token has it. */
export async function scopeOf(word, text) {
  return (await tokenize(text)).flat().findLast((token) => token.text === word)?.scope;
}
