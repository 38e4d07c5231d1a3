// What pages about a compilation are made of. All text of the program is inserted as text, never as HTML.
"use strict";

const element = (tag, name, text) => {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
};

// -- the source line behind each element

const byKey = new Map(); // `file:line` → the elements that come from it
let kept = "";

function register(node, key) {
  if (!key) return;
  node.dataset.key = key;
  if (!byKey.has(key)) byKey.set(key, []);
  byKey.get(key).push(node);
}

function registerAll(root) {
  for (const node of root.querySelectorAll("[data-key]")) {
    if (!(byKey.get(node.dataset.key) || []).includes(node)) register(node, node.dataset.key);
  }
}

function mark(key, name, on) {
  for (const node of byKey.get(key) || []) node.classList.toggle(name, on);
}

function hover(key) {
  for (const node of document.querySelectorAll(".hot")) node.classList.remove("hot");
  if (key) mark(key, "hot", true);
}

function keep(key, origin) {
  if (kept) mark(kept, "kept", false);
  kept = key;
  if (key) mark(key, "kept", true);
  for (const pane of document.querySelectorAll(".pane")) {
    const lit = pane.querySelectorAll(".row.kept").length;
    const all = `${Number(pane.dataset.count).toLocaleString("en")} lines`;
    pane.querySelector("h3 span").textContent = lit ? `${lit} of ${all}` : all;
  }
  if (!key) return;
  const home = origin && origin.closest(".lines");
  for (const lines of document.querySelectorAll(".pane:not([hidden]) .lines")) {
    if (lines === home) continue;
    const first = lines.querySelector(".row.kept");
    if (first) lines.scrollTop = first.offsetTop - lines.clientHeight / 3;
  }
}

const keyAt = (target) => {
  const node = target.closest && target.closest("[data-key]");
  return node ? node.dataset.key : "";
};
document.addEventListener("mouseover", (event) => hover(keyAt(event.target)));
document.addEventListener("focusin", (event) => hover(keyAt(event.target)));
document.addEventListener("click", (event) => {
  const node = event.target.closest("[data-key]");
  if (!node || node.matches("summary")) return;
  keep(node.dataset.key, node);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") { keep("", null); hover(""); }
  const node = event.target;
  if (event.key === "Enter" && node.dataset && node.dataset.key && !node.matches("summary")) keep(node.dataset.key, node);
});

// -- stages side by side

const COMMENTS = { llvmir: ";", python: "#" };
const WORDS = String.raw`(%[\w$.#-]+)|("(?:[^"\\]|\\.)*")|(\b\d[\w.]*)|(\b(?:module|func|for|if|yield|return|define|load|store|def|while)\b)`;

// What is colored in texts with such comments.
const wordsOf = (comment) => new RegExp(`((?:${comment}).*$)|${WORDS}`, "g");

function colored(into, text, words) {
  let last = 0;
  for (const found of text.matchAll(words)) {
    into.append(text.slice(last, found.index));
    const kind = found[1] ? "c" : found[2] ? "v" : found[3] || found[4] ? "d" : "k";
    into.append(element("span", kind, found[0]));
    last = found.index + found[0].length;
  }
  into.append(text.slice(last));
}

// Neighboring lines differ in color: each step is the golden angle.
const hue = (key) => (Number(key.slice(key.lastIndexOf(":") + 1)) * 137.508) % 360;

// Remarks and findings by the line that they are about.
function notesByKey(data) {
  const said = new Map();
  const findings = data.findings.map((one) => ({ ...one, kind: one.severity, message: `${one.kind}: ${one.message}` }));
  for (const one of [...data.remarks, ...findings]) {
    if (!one.key) continue;
    if (!said.has(one.key)) said.set(one.key, []);
    said.get(one.key).push(one);
  }
  return said;
}

// A pane with the lines of a stage, and the notes below the lines that they are about.
function stagePane(stage, said) {
  const pane = element("section", "pane");
  pane.dataset.stage = stage.id;
  pane.dataset.count = stage.lines.length;
  const head = element("h3", "", stage.title);
  head.append(element("span", "", `${stage.lines.length.toLocaleString("en")} lines`));
  const lines = element("div", "lines");
  lines.tabIndex = 0;
  lines.setAttribute("role", "listbox");
  lines.setAttribute("aria-label", `${stage.title}, line by line`);
  const words = wordsOf(COMMENTS[stage.id] || "//");
  const told = new Set(); // several lines may come from one line of the source
  stage.lines.forEach((text, at) => {
    const row = element("div", "row");
    row.id = `${stage.id}-${at}`;
    row.setAttribute("role", "option");
    const key = stage.keys[at];
    row.append(element("span", "n", stage.numbers[at]));
    const shown = element("span", "t");
    colored(shown, text, words);
    row.append(shown);
    if (key) {
      row.classList.add("from");
      row.style.setProperty("--mark", `hsl(${hue(key)} 60% 55%)`);
      register(row, key);
    }
    lines.append(row);
    for (const one of (said && !told.has(key) && said.get(key)) || []) lines.append(element("div", `said ${one.kind}`, one.message));
    told.add(key);
  });
  pane.append(head, lines);
  walk(lines);
  return pane;
}

// The panes of the stages, each with a button that shows and hides it; `changed` hears which are shown.
function stagePanes(stages, panes, toggles, isShown, noteOf, changed) {
  stages.forEach((stage, number) => {
    const pane = stagePane(stage, noteOf(number));
    const button = element("button", "", stage.title);
    button.type = "button";
    const show = (on) => {
      pane.hidden = !on;
      button.setAttribute("aria-pressed", String(on));
    };
    button.addEventListener("click", () => {
      show(pane.hidden);
      if (changed) changed(stage.id, !pane.hidden);
    });
    show(isShown(stage, number));
    panes.append(pane);
    toggles.append(button);
  });
}

function walk(lines) {
  let at = -1;
  const rows = () => lines.querySelectorAll(".row");
  const move = (to) => {
    const all = rows();
    if (at >= 0) all[at].classList.remove("at");
    at = Math.max(0, Math.min(all.length - 1, to));
    all[at].classList.add("at");
    lines.setAttribute("aria-activedescendant", all[at].id);
    const above = all[at].offsetTop - lines.scrollTop;
    if (above < 0 || above > lines.clientHeight - 30) lines.scrollTop = all[at].offsetTop - lines.clientHeight / 2;
    hover(all[at].dataset.key || "");
  };
  lines.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -1e9, End: 1e9 }[event.key];
    if (step !== undefined) {
      move(at + step);
      event.preventDefault();
    } else if (event.key === "Enter" && at >= 0) {
      keep(rows()[at].dataset.key || "", rows()[at]);
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const open = [...document.querySelectorAll(".pane:not([hidden]) .lines")];
      const next = open[open.indexOf(lines) + (event.key === "ArrowRight" ? 1 : -1)];
      if (next) next.focus();
      event.preventDefault();
    }
  });
  lines.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (row) move([...rows()].indexOf(row));
  });
  lines.addEventListener("blur", () => {
    if (at >= 0) rows()[at].classList.remove("at");
  });
  lines.addEventListener("focus", () => {
    if (at >= 0) move(at);
  });
}

// -- passes

// The passes with their times, and the diff of the selected one. What a person selects is the list's `data-chosen`, which
// may be given as `chosen` later: it is selected again if it is still there.
function passList(passes, list, diff, chosen) {
  const most = Math.max(...passes.map((one) => one.ms), 0.01);
  const options = passes.map((one, number) => {
    const option = element("div", one.changed ? "pass" : "pass same");
    option.id = `pass-${number}`;
    option.setAttribute("role", "option");
    option.append(element("span", "", one.name), element("span", "", `${one.ms.toFixed(1)} ms`));
    const bar = element("i");
    bar.style.width = `${(100 * one.ms) / most}%`;
    option.append(bar);
    option.addEventListener("click", () => choose(number));
    list.append(option);
    return option;
  });
  let selected = -1;
  const select = (number) => {
    if (selected >= 0) options[selected].setAttribute("aria-selected", "false");
    selected = Math.max(0, Math.min(options.length - 1, number));
    options[selected].setAttribute("aria-selected", "true");
    list.setAttribute("aria-activedescendant", options[selected].id);
    const option = options[selected];
    if (option.offsetTop < list.scrollTop + list.offsetTop || option.offsetTop + 24 > list.scrollTop + list.offsetTop + list.clientHeight)
      list.scrollTop = option.offsetTop - list.offsetTop - list.clientHeight / 2;
    const one = passes[selected];
    diff.replaceChildren();
    if (!one.changed) diff.append(element("div", "hunk", "This pass changed nothing."));
    for (const line of one.diff) {
      const kind = { "+": "plus", "-": "minus", "@": "hunk" }[line[0]] || "";
      diff.append(element("div", kind, line));
    }
    if (one.note) diff.append(element("div", "hunk", one.note));
  };
  const choose = (number) => {
    select(number);
    list.dataset.chosen = `${selected} ${passes[selected].name}`;
  };
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -1e9, End: 1e9 }[event.key];
    if (step === undefined) return;
    choose(selected + step);
    event.preventDefault();
  });
  const wanted = chosen ? passes.findIndex((one, number) => `${number} ${one.name}` === chosen) : -1;
  if (wanted >= 0) choose(wanted);
  else select(Math.max(0, passes.findIndex((one) => one.diff.length > 0)));
}

// -- remarks

function remarkCards(remarks, into) {
  for (const one of remarks) {
    const card = element("div", `remark ${one.kind}`);
    card.append(element("small", "", [one.kind, one.category, one.source, one.key].filter(Boolean).join(" · ")));
    card.append(element("span", "", one.message));
    for (const note of one.notes) card.append(element("small", "", note));
    if (one.key) {
      card.tabIndex = 0;
      register(card, one.key);
    }
    into.append(card);
  }
}

// -- light and dark

function themeButton() {
  const theme = element("button", "", "Dark");
  theme.type = "button";
  theme.id = "theme";
  const dark = () => {
    const set = document.documentElement.dataset.theme;
    return set ? set === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const name = () => { theme.textContent = dark() ? "Light" : "Dark"; };
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    name();
  });
  name();
  return theme;
}

// Paper shows everything.
addEventListener("beforeprint", () => { for (const one of document.querySelectorAll("details")) one.open = true; });
