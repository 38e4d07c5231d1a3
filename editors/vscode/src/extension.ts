import * as vscode from "vscode";
import {
  type Executable,
  LanguageClient,
  type LanguageClientOptions,
  RevealOutputChannelOn,
  TransportKind,
} from "vscode-languageclient/node";

import { isShown, pathOf, type Place, type Shown, STAGES, startFailure } from "./shown";

/** Documents with the results of commands. The server reads stages, too: they have hover and names. */
const STAGE = "tessera-stage";
const OUTPUT = "tessera-output";

/** Settings that the server has at its start only; it is started again when they change. */
const AT_START = ["tessera.server", "tessera.python"];

/** A client that leaves it to us to say that the server does not start. */
class Client extends LanguageClient {
  override error(message: string, data?: unknown, showNotification?: boolean | "force"): void {
    super.error(message, data, this.isRunning() ? showNotification : false);
  }
}

let client: Client | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const results = new Results();
  context.subscriptions.push(
    results,
    vscode.workspace.registerTextDocumentContentProvider(STAGE, results),
    vscode.workspace.registerTextDocumentContentProvider(OUTPUT, results),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (AT_START.some((section) => event.affectsConfiguration(section))) {
        await restart(results);
      }
    }),
    vscode.commands.registerCommand("tessera.restart", () => restart(results)),
    vscode.commands.registerCommand("tessera.runLineAtCursor", () => atCursor("tessera.runLine")),
    vscode.commands.registerCommand("tessera.showNextStage", () => atCursor("tessera.showStage", "next")),
    vscode.commands.registerCommand("tessera.showPtx", () => atCursor("tessera.showStage", "ptx")),
    vscode.commands.registerCommand("tessera.chooseStage", async () => {
      const stage = await vscode.window.showQuickPick(STAGES, { placeHolder: "Stage to show" });
      if (stage !== undefined) {
        await atCursor("tessera.showStage", stage.label);
      }
    }),
  );
  await start(results);
}

export async function deactivate(): Promise<void> {
  const ended = client;
  client = undefined;
  // A client that has not started cannot be stopped.
  if (ended?.needsStop()) {
    await ended.dispose();
  }
}

async function restart(results: Results): Promise<void> {
  await deactivate();
  await start(results);
}

async function start(results: Results): Promise<void> {
  const settings = vscode.workspace.getConfiguration("tessera");
  const path = settings.get<string>("server.path", "tessera-lsp");
  const server: Executable = {
    command: path,
    args: settings.get<string[]>("server.arguments", []),
    transport: TransportKind.stdio,
  };
  const selector = ["file", "untitled", STAGE].map((scheme) => ({ scheme, language: "mlir" }));
  if (settings.get<boolean>("python.execute", false)) {
    selector.push({ scheme: "file", language: "python" });
  }
  const options: LanguageClientOptions = {
    documentSelector: selector,
    initializationOptions: settings,
    synchronize: { configurationSection: "tessera" },
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    middleware: {
      // The code lenses of the server name its own commands: what they return is shown here.
      executeCommand: async (command, argument, next) => {
        const result = await vscode.window.withProgress(
          { location: vscode.ProgressLocation.Window, title: "Tessera" },
          async () => next(command, argument),
        );
        if (isShown(result)) {
          await results.show(command === "tessera.showStage" ? STAGE : OUTPUT, result);
        }
        return result;
      },
    },
  };
  client = new Client("tessera", "Tessera", server, options);
  try {
    await client.start();
  } catch (failure) {
    const reason = failure instanceof Error ? failure.message : String(failure);
    void offerSettings(startFailure(path, reason));
  }
}

async function offerSettings(message: string): Promise<void> {
  const open = "Open Settings";
  if ((await vscode.window.showErrorMessage(message, open)) === open) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "tessera.server.path");
  }
}

/** Run a command of the server about the line of the cursor. */
async function atCursor(command: string, stage?: string): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || editor.document.languageId !== "mlir") {
    void vscode.window.showInformationMessage("Tessera: open an MLIR file first.");
    return;
  }
  const place: Place = { uri: editor.document.uri.toString(), line: editor.selection.active.line };
  await vscode.commands.executeCommand(command, stage === undefined ? place : { ...place, stage });
}

/** The results of commands, as documents that cannot be edited. */
class Results implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly closed = vscode.workspace.onDidCloseTextDocument((document) =>
    this.texts.delete(document.uri.toString()),
  );

  readonly onDidChange = this.changed.event;

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? "";
  }

  async show(scheme: string, shown: Shown): Promise<void> {
    const uri = vscode.Uri.from({ scheme, path: pathOf(shown) });
    this.texts.set(uri.toString(), shown.text);
    this.changed.fire(uri);
    const document = await vscode.workspace.openTextDocument(uri);
    const known = await vscode.languages.getLanguages();
    if (known.includes(shown.language) && document.languageId !== shown.language) {
      await vscode.languages.setTextDocumentLanguage(document, shown.language);
    }
    await vscode.window.showTextDocument(document, {
      viewColumn: vscode.ViewColumn.Beside,
      preserveFocus: true,
      preview: true,
    });
    if (shown.status !== undefined) {
      const outcome = shown.status === 0 ? "succeeded" : `failed with exit status ${shown.status}`;
      vscode.window.setStatusBarMessage(`Tessera: the RUN line ${outcome}`, 5000);
    }
  }

  dispose(): void {
    this.changed.dispose();
    this.closed.dispose();
  }
}
