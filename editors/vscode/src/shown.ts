// What the server's commands take and return, without anything of VS Code: see `_run_line` and `_show_stage` in
// tessera_tools/cli/lsp_server.py.

/** The argument of `tessera.runLine` and `tessera.showStage`: a line of a document, counted from 0. */
export interface Place {
  uri: string;
  line: number;
  /** `next`, a stage of IR, `llvmir` or `ptx`; only for `tessera.showStage`. */
  stage?: string;
}

/** What a command returns to show. */
export interface Shown {
  title: string;
  text: string;
  language: string;
  /** The exit status of a RUN line. */
  status?: number;
}

/** The stages that the server shows, with what they are. */
export const STAGES: readonly { label: string; description: string }[] = [
  { label: "next", description: "the stage after the program's own" },
  { label: "nv_tileaa", description: "tiles, with alignment and copy atoms" },
  { label: "nv_tileas", description: "tiles with layouts, pipelines and barriers" },
  { label: "llvm", description: "MLIR's llvm and nvvm dialects" },
  { label: "llvmir", description: "LLVM IR" },
  { label: "ptx", description: "PTX" },
];

/** True if a command's result is something to show; null is not: the server has sent a message instead. */
export function isShown(result: unknown): result is Shown {
  const shown = result as Partial<Shown> | null | undefined;
  return typeof shown?.title === "string" && typeof shown.text === "string" && typeof shown.language === "string";
}

const ENDINGS: Record<string, string> = { mlir: ".mlir", llvm: ".ll", ptx: ".ptx" };

/** The name of the document with a result: one for each title, so that a command again shows the new text there. */
export function pathOf(shown: Shown): string {
  const title = shown.title.replace(/\s*\((succeeded|exit status \d+)\)$/, "");
  const name = title.replace(/[^\w.%=-]+/g, " ").trim().slice(0, 80);
  return `/${name}${ENDINGS[shown.language] ?? ".txt"}`;
}

/** What to tell the user when the server does not start. */
export function startFailure(path: string, reason: string): string {
  return (
    `Tessera: '${path}' does not start (${reason}). Install it with: pip install 'tessera-tools[lsp]', ` +
    "or set tessera.server.path to the file."
  );
}
