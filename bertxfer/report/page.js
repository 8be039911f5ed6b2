"use strict";
// Every chart is drawn from its one table, so that a filter is a matter of leaving rows out and drawing again.
(() => {
  const specs = JSON.parse(document.getElementById("specs").textContent);
  const chosen = { task: new Set(), size: new Set() };
  const drawn = new Map();

  const keeps = (kind, value) => !value || chosen[kind].size === 0 || chosen[kind].has(value);
  const visible = (row) => keeps("task", row.task) && keeps("size", row.size);

  // Panels in as many columns as fit, somewhat wider where there is room, narrower where not even one fits.
  function fitted(spec, room, labels) {
    for (const part of spec.vconcat || [spec]) fit(part, room, labels);
    if (room < 560) {
      spec.config.legend.layout = { top: { direction: "vertical" } };
      legends(spec, (legend) => { legend.columns = Math.max(1, Math.floor((room - labels) / 140)); });
    }
    return spec;
  }

  function fit(spec, room, labels) {
    const inner = spec.spec || spec;
    const usual = inner.width;
    const gap = spec.facet ? spec.spacing.column : 0;
    if (spec.facet) {
      const fit = Math.floor((room - labels + gap) / (usual + gap));
      spec.columns = Math.min(spec.columns, Math.max(1, fit));
    }
    const columns = spec.columns || 1;
    const wide = (room - labels - 12 - gap * (columns - 1)) / columns;
    inner.width = Math.max(100, Math.floor(Math.min(wide, 1.35 * usual)));
  }

  function legends(node, change) {
    if (!node || typeof node !== "object") return;
    if (node.legend && node.legend.columns) change(node.legend);
    for (const [key, child] of Object.entries(node)) if (key !== "data") legends(child, change);
  }

  async function draw(index) {
    const place = document.getElementById("chart-" + index);
    const spec = structuredClone(specs[index]);
    spec.data.values = spec.data.values.filter(visible);
    place.dataset.rows = spec.data.values.length;
    if (drawn.has(index)) drawn.get(index).finalize();
    drawn.delete(index);
    if (spec.data.values.length === 0) {
      place.textContent = "Nothing of this figure is left with this choice.";
      return;
    }
    delete spec.title;
    spec.config.background = null;
    spec.config.padding = 4;
    const options = { renderer: "svg", actions: false, ast: true, tooltip: { theme: "custom" } };
    const margin = spec.usermeta.labels;
    const result = await vegaEmbed(place, fitted(spec, place.clientWidth, margin), options);
    drawn.set(index, result);
    result.view.addEventListener("click", (event, item) => {
      const task = item && item.datum && item.datum.task;
      if (task) choose("task", task, true);
    });
  }

  let last = Promise.resolve();
  function drawAll() {
    last = last.then(async () => {
      for (const index of specs.keys()) if (specs[index]) await draw(index);
      document.body.dataset.drawn = Number(document.body.dataset.drawn || 0) + 1;
    });
    return last;
  }

  function choose(kind, value, alone) {
    const was = chosen[kind].has(value);
    if (alone) chosen[kind].clear();
    was ? chosen[kind].delete(value) : chosen[kind].add(value);
    show();
  }

  function show() {
    for (const button of document.querySelectorAll("button[data-kind]"))
      button.setAttribute("aria-pressed", chosen[button.dataset.kind].has(button.dataset.value));
    const everything = document.getElementById("everything");
    if (everything) everything.disabled = chosen.task.size + chosen.size.size === 0;
    for (const element of document.querySelectorAll("tr[data-task], li[data-task]"))
      element.hidden = !keeps("task", element.dataset.task);
    drawAll();
  }

  for (const button of document.querySelectorAll("button[data-kind]"))
    button.addEventListener("click", () => choose(button.dataset.kind, button.dataset.value, false));
  const everything = document.getElementById("everything");
  if (everything) everything.addEventListener("click", () => { chosen.task.clear(); chosen.size.clear(); show(); });

  let width = document.body.clientWidth;
  let waiting;
  window.addEventListener("resize", () => {
    if (document.body.clientWidth === width) return;
    width = document.body.clientWidth;
    clearTimeout(waiting);
    waiting = setTimeout(drawAll, 150);
  });
  drawAll();
})();
