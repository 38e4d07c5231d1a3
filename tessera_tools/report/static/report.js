// The report: what parts.js makes of the data of the page.

const data = JSON.parse(document.getElementById("data").textContent);
const SHOWN = new Set(["ptx", "sass", "nv_tileas"]);
const said = notesByKey(data);
stagePanes(
  data.stages,
  document.getElementById("panes"),
  document.getElementById("toggles"),
  (stage, number) => number === 0 || SHOWN.has(stage.id),
  (number) => (number === 0 ? said : null),
);
const list = document.getElementById("passlist");
if (list) passList(data.passes, list, document.getElementById("diff"));
const remarks = document.getElementById("remarklist");
if (remarks) remarkCards(data.remarks, remarks);
registerAll(document.querySelector("main"));
document.querySelector(".bar").append(themeButton());
