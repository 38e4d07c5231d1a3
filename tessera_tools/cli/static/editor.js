// An editor: a text area that shows its text as colored lines, with numbers and with problems at their lines.
"use strict";

const PROGRAM_WORDS = wordsOf("//|;");
const COLORED_LINES = 4000; // beyond, lines are not colored

class Editor {
  constructor(home, changed) {
    this.changed = changed;
    this.lines = []; // {text, node, number}
    this.gutter = element("div", "gutter");
    this.gutter.setAttribute("aria-hidden", "true");
    this.numbers = element("div");
    this.gutter.append(this.numbers);
    const code = element("div", "code");
    this.paint = element("div", "paint");
    this.paint.setAttribute("aria-hidden", "true");
    this.area = element("textarea");
    Object.assign(this.area, { id: "program", spellcheck: false, wrap: "off", autocomplete: "off", autocapitalize: "off" });
    this.area.setAttribute("aria-label", "Program");
    code.append(this.paint, this.area);
    home.append(this.gutter, code);
    this.area.addEventListener("input", () => {
      this.draw();
      this.changed();
    });
    this.area.addEventListener("scroll", () => this.scroll());
    this.area.addEventListener("keydown", (event) => this.key(event));
    this.area.addEventListener("mousemove", (event) => this.point(event));
    this.area.addEventListener("mouseleave", () => hover(""));
    for (const name of ["click", "keyup"]) {
      this.area.addEventListener(name, (event) => {
        if (name === "click" || /^(Arrow|Page|Home|End)/.test(event.key)) this.choose();
      });
    }
    this.draw();
  }

  get text() {
    return this.area.value;
  }

  set text(text) {
    this.area.value = text;
    this.area.setSelectionRange(0, 0);
    this.area.scrollTo(0, 0);
    this.draw();
  }

  // Draw the lines that differ from those that are shown.
  draw() {
    const texts = this.area.value.split("\n");
    let begin = 0;
    let end = 0;
    const most = Math.min(texts.length, this.lines.length);
    while (begin < most && texts[begin] === this.lines[begin].text) begin++;
    while (end < most - begin && texts[texts.length - 1 - end] === this.lines[this.lines.length - 1 - end].text) end++;
    const removed = this.lines.length - begin - end;
    const after = this.lines[begin + removed];
    const made = texts.slice(begin, texts.length - end).map((text) => {
      const node = element("div", "line");
      if (texts.length > COLORED_LINES) node.textContent = text;
      else colored(node, text, PROGRAM_WORDS);
      return { text, node };
    });
    for (const line of this.lines.splice(begin, removed, ...made)) line.node.remove();
    for (const line of made) this.paint.insertBefore(line.node, after ? after.node : null);
    while (this.numbers.children.length < this.lines.length)
      this.numbers.append(element("div", "", String(this.numbers.children.length + 1)));
    while (this.numbers.children.length > this.lines.length) this.numbers.lastChild.remove();
    if (removed || made.length) this.mark();
    this.scroll();
  }

  // The numbers of lines with problems are colored as these are.
  mark() {
    this.lines.forEach((line, at) => {
      this.numbers.children[at].className = line.node.dataset.severity || "";
    });
  }

  // Show problems at their lines: {line, column, severity, message}.
  problems(list) {
    for (const line of this.lines) {
      if (!line.node.dataset.severity) continue;
      delete line.node.dataset.severity;
      line.node.replaceChildren();
      colored(line.node, line.text, PROGRAM_WORDS);
    }
    const byLine = new Map();
    for (const one of list) {
      if (!one.line || one.line > this.lines.length) continue;
      if (!byLine.has(one.line)) byLine.set(one.line, []);
      byLine.get(one.line).push(one);
    }
    for (const [number, found] of byLine) {
      const { node, text } = this.lines[number - 1];
      const severity = found.some((one) => one.severity === "error") ? "error" : found[0].severity;
      node.dataset.severity = severity;
      const column = Math.max(found[0].column - 1, text.search(/\S/));
      const at = Math.min(column, Math.max(text.length - 1, 0));
      const word = /^[%@^!#]?[\w$.-]+/.exec(text.slice(at));
      const end = at + (word ? word[0].length : 1);
      const wavy = element("span", `wavy ${severity}`, text.slice(at, end));
      node.replaceChildren();
      colored(node, text.slice(0, at), PROGRAM_WORDS);
      node.append(wavy);
      colored(node, text.slice(end), PROGRAM_WORDS);
      node.append(element("span", `told ${severity}`, found.map((one) => one.message).join("; ")));
    }
    this.mark();
  }

  scroll() {
    this.paint.style.transform = `translate(${-this.area.scrollLeft}px, ${-this.area.scrollTop}px)`;
    this.numbers.style.transform = `translateY(${-this.area.scrollTop}px)`;
  }

  height() {
    return this.lines[0].node.getBoundingClientRect().height;
  }

  // Move the cursor to a line and a column, both from 1.
  go(line, column) {
    const before = this.lines.slice(0, line - 1).reduce((sum, one) => sum + one.text.length + 1, 0);
    const at = before + Math.max(0, column - 1);
    this.area.focus();
    this.area.setSelectionRange(at, at);
    this.reveal(line);
  }

  reveal(line) {
    const top = (line - 1) * this.height();
    const inside = top - this.area.scrollTop;
    if (inside < 0 || inside > this.area.clientHeight - 2 * this.height())
      this.area.scrollTop = top - this.area.clientHeight / 3;
  }

  at(y) {
    const found = this.lines[Math.floor(y / this.height())];
    return (found && found.node.dataset.key) || "";
  }

  point(event) {
    const box = this.area.getBoundingClientRect();
    hover(this.at(event.clientY - box.top - this.area.clientTop - 8 + this.area.scrollTop));
  }

  // The line of the cursor stays lit.
  choose() {
    const number = this.area.value.slice(0, this.area.selectionStart).split("\n").length;
    keep(this.lines[number - 1].node.dataset.key || "", null);
  }

  // A new line begins as the one before; Ctrl+] and Ctrl+[ move lines. Tab leaves the editor, as keyboard users expect.
  key(event) {
    const { selectionStart: start, selectionEnd: end, value } = this.area;
    const begin = value.lastIndexOf("\n", start - 1) + 1;
    if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && !event.isComposing) {
      const indent = /^[ \t]*/.exec(value.slice(begin, start))[0];
      event.preventDefault();
      document.execCommand("insertText", false, `\n${indent}`);
    } else if ((event.key === "]" || event.key === "[") && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      const last = value.indexOf("\n", Math.max(start, end - 1));
      const stop = last < 0 ? value.length : last;
      const moved = value.slice(begin, stop).split("\n").map((line) => (event.key === "]" ? `  ${line}` : line.replace(/^ {1,2}/, "")));
      const text = moved.join("\n");
      this.area.setSelectionRange(begin, stop);
      document.execCommand("insertText", false, text);
      this.area.setSelectionRange(begin, begin + text.length);
    }
  }
}
