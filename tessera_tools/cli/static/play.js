// The page of tessera-play. All text of a program, and all that the server says about it, is inserted as text; only the
// pictures and tables that the server draws are HTML, and the policy of the page allows no script in them.
"use strict";

const setup = JSON.parse(document.getElementById("setup").textContent);
const find = (id) => document.getElementById(id);
const FIRST = ["ptx"]; // the stages that are shown at first
const TABS = [
  ["stages", "Stages"],
  ["passes", "Passes"],
  ["remarks", "Remarks"],
  ["layouts", "Layouts"],
  ["memory", "Shared memory"],
  ["schedule", "Schedule"],
  ["resources", "Resources"],
  ["run", "Run"],
];
const EXAMPLE = "vector_add.mlir";
const DELAY = 400; // milliseconds without a change after which the program is compiled

let shown = new Set(FIRST);
let tab = "stages";
let problems = [];

// -- the address: program and options, compressed, after `#`

const VERSION = "1";

async function through(stream, bytes, most) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const parts = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > most) {
      await reader.cancel();
      throw new Error("too large");
    }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

async function encoded(state) {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(state)), Infinity);
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return VERSION + btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

// What another page's address may say is checked as if anybody had written it.
async function decoded(fragment) {
  if (!fragment.startsWith(VERSION)) throw new Error("another version");
  const text = atob(fragment.slice(1).replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(text, (char) => char.charCodeAt(0));
  const found = await through(new DecompressionStream("deflate-raw"), bytes, 2 * setup.most);
  const state = JSON.parse(new TextDecoder().decode(found));
  const string = (value) => (typeof value === "string" ? value : "");
  const strings = (value) => (Array.isArray(value) ? value.filter((one) => typeof one === "string") : []);
  const record = (value) => {
    const made = {};
    if (value && typeof value === "object")
      for (const option of setup.options) if (typeof value[option.name] === "string") made[option.name] = value[option.name];
    return made;
  };
  return {
    program: string(state.program),
    options: record(state.options),
    running: record(state.running),
    passes: string(state.passes),
    arguments: string(state.arguments),
    stages: strings(state.stages),
    tab: string(state.tab),
  };
}

let saved = ""; // the fragment that this page has written last

async function save(push) {
  const before = location.hash;
  const fragment = `#${await encoded({ ...current(), stages: [...shown], tab })}`;
  if (fragment === location.hash || location.hash !== before) return; // Back or Forward came first
  saved = fragment;
  history[push ? "pushState" : "replaceState"](null, "", fragment);
}

async function restore() {
  if (location.hash.length < 2) return false;
  try {
    take(await decoded(location.hash.slice(1)));
    saved = location.hash;
    return true;
  } catch {
    say("The address has no program that can be read.", "error");
    return false;
  }
}

function take(state) {
  editor.text = state.program;
  for (const option of setup.options) {
    const from = option.group === "run" ? state.running : state.options;
    setControl(option, from[option.name] || "");
  }
  find("passes").value = state.passes;
  find("arguments").value = state.arguments;
  shown = new Set(state.stages.length ? state.stages : FIRST);
  select(TABS.some(([id]) => id === state.tab) ? state.tab : "stages");
}

// -- the controls

const controls = new Map();

function setControl(option, value) {
  const control = controls.get(option.name);
  if (option.flag) control.checked = value === "true";
  else control.value = option.words.length && !option.words.includes(value) ? "" : value;
}

function valueOf(option) {
  const control = controls.get(option.name);
  return option.flag ? (control.checked ? "true" : "") : control.value.trim();
}

const spelled = (name) => (name.length === 1 ? `-${name}` : name);

function makeControl(option) {
  const isGpu = option.name === "gpu-name";
  let control;
  if (option.flag) {
    control = element("input");
    control.type = "checkbox";
  } else if (option.words.length) {
    control = isGpu ? find("gpu") : element("select");
    control.append(new Option(isGpu ? "of the program, or sm_80" : "default", ""));
    for (const word of option.words) control.append(new Option(word, word));
  } else {
    control = element("input");
    control.placeholder = option.metavar;
    control.autocomplete = "off";
    control.spellcheck = false;
  }
  controls.set(option.name, control);
  control.addEventListener("input", () => (option.group === "run" ? save() : change()));
  if (isGpu) return null;
  control.id = `option-${option.name}`;
  const made = element("div", "option");
  const label = element("label", "", spelled(option.name));
  label.htmlFor = control.id;
  const help = element("small", "", option.help);
  help.id = `help-${option.name}`;
  control.setAttribute("aria-describedby", help.id);
  made.append(label, control, help);
  return made;
}

function current() {
  const chosen = (group) => {
    const found = {};
    for (const option of setup.options) if (option.group === group && valueOf(option)) found[option.name] = valueOf(option);
    return found;
  };
  return {
    program: editor.text,
    options: chosen("compile"),
    running: chosen("run"),
    passes: find("passes").value,
    arguments: find("arguments").value,
  };
}

function say(text, kind) {
  const status = find("status");
  status.textContent = text;
  status.className = kind || "";
}

// -- tabs

const panels = new Map();

function makeTabs() {
  for (const [id, title] of TABS) {
    const button = element("button", "", title);
    Object.assign(button, { type: "button", id: `tab-${id}` });
    button.setAttribute("role", "tab");
    button.setAttribute("aria-controls", `panel-${id}`);
    button.addEventListener("click", () => {
      select(id);
      save();
    });
    find("tabs").append(button);
    const panel = element("div", "panel");
    Object.assign(panel, { id: `panel-${id}` });
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", `tab-${id}`);
    find("panels").append(panel);
    panels.set(id, panel);
  }
  panels.get("run").append(find("run-panel").content);
  find("tabs").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const there = TABS.map(([id]) => id).filter((id) => !find(`tab-${id}`).disabled);
    const next = there[(there.indexOf(tab) + step + there.length) % there.length];
    select(next);
    find(`tab-${next}`).focus();
    save();
    event.preventDefault();
  });
}

function select(id) {
  tab = id;
  for (const [name, panel] of panels) {
    const button = find(`tab-${name}`);
    button.setAttribute("aria-selected", String(name === id));
    button.tabIndex = name === id ? 0 : -1;
    panel.hidden = name !== id;
  }
}

// -- compile and run

let timer = 0;
let controller = null;

function change() {
  find("ran").classList.add("stale");
  clearTimeout(timer);
  timer = setTimeout(() => {
    save();
    compile(false);
  }, DELAY);
}

async function compile(runs) {
  clearTimeout(timer);
  if (controller) controller.abort();
  const mine = (controller = new AbortController());
  say(runs ? "Running…" : "Compiling…", "busy");
  let answer;
  try {
    const response = await fetch("/compile", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...current(), run: runs }),
      signal: mine.signal,
    });
    const text = await response.text();
    try {
      answer = JSON.parse(text);
    } catch {
      answer = { failed: text.trim() || `status ${response.status}` };
    }
  } catch (failure) {
    if (mine.signal.aborted) return;
    answer = { failed: "The server does not answer. Is tessera-play still running?" };
  }
  if (mine !== controller) return;
  controller = null;
  if (answer.failed !== undefined) {
    problems = [{ severity: "error", line: 0, column: 0, message: answer.failed, notes: [] }];
    showProblems();
    find("panels").classList.add("stale");
    say(runs ? "The run has failed." : "The compilation has failed.", "error");
    return;
  }
  show(answer, runs);
}

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

function show(answer, ran) {
  problems = answer.diagnostics;
  const errors = problems.filter((one) => one.severity === "error").length;
  const { data } = answer;
  find("panels").classList.toggle("stale", !data.stages.length);
  if (data.stages.length) {
    byKey.clear();
    kept = "";
    showSections(answer);
  }
  for (const one of data.remarks) {
    if (one.kind !== "warning") continue;
    const line = Number(one.key.slice(one.key.lastIndexOf(":") + 1)) || 0;
    problems.push({ severity: "warning", line, column: 1, message: one.message, notes: one.notes.map((message) => ({ message })) });
  }
  if (answer.suggested.length || data.stages.length) find("arguments").placeholder = answer.suggested.join("\n");
  if (ran) showRun(answer);
  showProblems(ran ? data.findings : []);
  if (data.stages.length) link(data);
  if (errors) say(plural(errors, "error"), "error");
  else if (ran && answer.run) say(`Run: ${outcomeOf(answer.run)}`, answer.run.status ? "error" : "good");
  else say(data.passes.length ? data.passes.length === 1 ? "1 pass" : `${data.passes.length} passes` : "Compiled", "good");
}

function insert(into, markup) {
  const template = document.createElement("template");
  template.innerHTML = markup; // of the server, where text of the program is escaped
  into.replaceChildren(template.content);
}

function showSections(answer) {
  const { data } = answer;
  const chosen = find("passlist") ? find("passlist").dataset.chosen : "";
  const sections = new Map(answer.sections.map(([id, , markup]) => [id, markup]));
  for (const [id] of TABS) {
    if (id === "run") continue;
    insert(panels.get(id), sections.get(id) || "");
    find(`tab-${id}`).disabled = !sections.has(id);
  }
  if (find(`tab-${tab}`).disabled) select("stages");
  const any = data.stages.some((stage) => shown.has(stage.id));
  const last = data.stages.length - 1;
  stagePanes(
    data.stages,
    find("panes"),
    find("toggles"),
    (stage, number) => (any ? shown.has(stage.id) : number === last),
    () => null,
    (id, on) => {
      if (on) shown.add(id);
      else shown.delete(id);
      save();
    },
  );
  if (find("passlist")) passList(data.passes, find("passlist"), find("diff"), chosen);
  if (find("remarklist")) remarkCards(data.remarks, find("remarklist"));
  const facts = answer.facts.map(([name, value]) => {
    const fact = element("div");
    fact.append(element("dt", "", name), element("dd", "", value));
    return fact;
  });
  find("facts").replaceChildren(...facts);
  if (answer.leftOut.length) {
    const note = element("p", "hint", `Left out: ${answer.leftOut.join("; ")}.`);
    panels.get("stages").append(note);
  }
}

const outcomeOf = (run) => ({ 0: "success", 2: "wrong answer", 3: "findings" })[run.status] || "error";

function showRun(answer) {
  const ran = find("ran");
  ran.replaceChildren();
  ran.classList.remove("stale");
  select("run");
  if (!answer.run) {
    ran.append(element("p", "hint", "The program has errors."));
    return;
  }
  ran.append(element("h3", answer.run.status ? "bad" : "good", `Run: ${outcomeOf(answer.run)}`));
  const output = element("pre", "chart output", answer.run.output);
  output.tabIndex = 0;
  output.setAttribute("aria-label", "Output of the run");
  const sections = new Map(answer.sections.map(([id, , markup]) => [id, markup]));
  if (sections.has("findings") && answer.run.status !== 1) {
    const findings = element("section");
    findings.id = "findings";
    insert(findings, sections.get("findings"));
    findings.prepend(element("h3", "", "Findings"));
    ran.append(findings);
  }
  if (answer.run.buffers.length) ran.append(buffers(answer.run.buffers));
  if (sections.has("clock")) {
    const clock = element("section");
    clock.id = "clock";
    insert(clock, sections.get("clock"));
    clock.prepend(element("h3", "", "Clock"));
    ran.append(clock);
  }
  ran.append(element("h3", "", "Output"), output);
  if (answer.run.cut) ran.append(element("p", "hint", `${answer.run.cut.toLocaleString("en")} more characters`));
  ran.scrollIntoView({ block: "nearest" });
}

function buffers(list) {
  const table = element("table", "numbers buffers");
  table.append(element("caption", "", "Arrays after the run"));
  for (const one of list) {
    const row = element("tr");
    row.append(element("th", "", `${one.name}: ${one.shape} ${one.type}`));
    row.append(element("td", "", one.values.join("  ") + (one.more ? "  …" : "")));
    table.append(row);
  }
  return table;
}

function showProblems(findings = []) {
  const list = [...problems];
  for (const one of findings) {
    const line = Number(one.key.slice(one.key.lastIndexOf(":") + 1)) || 0;
    list.push({
      severity: one.severity, line: one.key.startsWith("program:") ? line : 0, column: 1,
      message: `${one.kind}: ${one.message}`, notes: [],
    });
  }
  editor.problems(list);
  find("problems").replaceChildren(
    ...list.map((one) => {
      const item = element(one.line ? "button" : "div", `problem ${one.severity}`);
      if (one.line) {
        item.type = "button";
        item.addEventListener("click", () => editor.go(one.line, one.column));
      }
      item.setAttribute("role", "listitem");
      item.append(element("strong", "", one.line ? `${one.line}:${one.column} ${one.severity}` : one.severity));
      item.append(element("span", "", one.message));
      for (const note of one.notes) item.append(element("small", "", note.message));
      return item;
    }),
  );
}

// The lines of the editor belong to those of the stages that come from them.
function link(data) {
  const used = new Set(data.stages.flatMap((stage) => stage.keys));
  for (const one of [...data.remarks, ...data.findings]) used.add(one.key);
  editor.lines.forEach((line, at) => {
    delete line.node.dataset.key;
    if (used.has(`program:${at + 1}`)) register(line.node, `program:${at + 1}`);
  });
  registerAll(find("panels"));
}

// -- the page

const editor = new Editor(find("editor"), change);
makeTabs();
for (const option of setup.options) {
  const made = makeControl(option);
  if (made) find(option.group === "run" ? (option.first ? "run-options" : "more-options") : "options").append(made);
}
select("stages");
for (const name of setup.examples) find("example").append(new Option(name.replace(/\.mlir$/, ""), name));
document.querySelector(".bar").append(themeButton());

async function load(name) {
  const response = await fetch(`/examples/${encodeURIComponent(name)}`);
  if (!response.ok) throw new Error(name);
  editor.text = await response.text();
  find("arguments").value = "";
}

find("example").addEventListener("change", async (event) => {
  const name = event.target.value;
  event.target.value = "";
  if (!name) return;
  await save(); // so that Back returns to what was written
  await load(name);
  find("ran").replaceChildren();
  await save(true);
  compile(false);
});
find("passes").addEventListener("input", change);
find("arguments").addEventListener("input", () => save());
for (const form of ["options", "running"]) find(form).addEventListener("submit", (event) => event.preventDefault());
find("show-options").addEventListener("click", (event) => {
  const open = find("options").hidden;
  find("options").hidden = !open;
  event.target.setAttribute("aria-expanded", String(open));
});
find("run").addEventListener("click", () => compile(true));
find("share").addEventListener("click", async () => {
  await save();
  try {
    await navigator.clipboard.writeText(location.href);
    say("The address is copied. It has the program and the options.", "good");
  } catch {
    say("Copy the address of this page: it has the program and the options.", "good");
  }
});
addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    compile(true);
  } else if (event.key === "F8") {
    const next = find("problems").querySelector("button");
    if (next) next.click();
    event.preventDefault();
  }
});
// A line of a stage leads to its line in the editor.
find("result").addEventListener("click", (event) => {
  const line = editor.lines.findIndex((one) => one.node.dataset.key && one.node.dataset.key === keyAt(event.target));
  if (line >= 0) editor.reveal(line + 1);
});
addEventListener("hashchange", async () => {
  if (location.hash !== saved && (await restore())) compile(false);
});

(async () => {
  const found = await restore();
  const problem = find("status").textContent;
  if (!found && setup.file) editor.text = setup.file.program;
  else if (!found && setup.examples.includes(EXAMPLE)) await load(EXAMPLE);
  else if (!found) editor.text = "";
  await compile(false);
  if (setup.problem || (problem && !found)) say(setup.problem || problem, "error");
})();
