"use strict";
// Every chart is drawn from its one table, so that a filter is a matter of leaving rows out and drawing again.
(() => {
  const specs = JSON.parse(document.getElementById("specs").textContent);
  const chosen = { task: new Set(), size: new Set() };
  const drawn = new Map();
  const LEAST = 360; // of a panel's width, where the page has it

  const keeps = (kind, value) => !value || chosen[kind].size === 0 || chosen[kind].has(value);
  const visible = (row) => keeps("task", row.task) && keeps("size", row.size);

  // Panels in as many columns as fit and as wide as the page; narrower where not even one fits.
  function fitted(spec, room) {
    const { labels, most } = spec.usermeta;
    const panels = new Set(spec.data.values.map((row) => row.facet)).size;
    for (const part of spec.vconcat || [spec]) fit(part, room, labels, most, panels);
    if (room < 640) {
      spec.config.legend.layout = { top: { direction: "vertical" } };
      legends(spec, (legend) => {
        if (legend.columns) legend.columns = Math.max(1, Math.floor((room - labels) / 170));
        if (legend.gradientLength) legend.gradientLength = Math.min(legend.gradientLength, room - labels - 40);
        legend.labelLimit = Math.max(100, room - 80);
      });
    }
    return spec;
  }

  function fit(spec, room, labels, most, panels) {
    const inner = spec.spec || spec;
    const gap = spec.facet ? spec.spacing.column : 0;
    const least = Math.max(LEAST, Math.min(inner.width, most || inner.width));
    if (spec.facet)
      spec.columns = Math.max(1, Math.min(spec.columns, panels, Math.floor((room - labels + gap) / (least + gap))));
    const columns = spec.facet ? spec.columns : 1;
    const wide = (room - labels - 16 - gap * (columns - 1)) / columns;
    inner.width = Math.max(120, Math.floor(Math.min(wide, most || wide)));
  }

  function legends(node, change) {
    if (!node || typeof node !== "object") return;
    if (node.legend) change(node.legend);
    for (const [key, child] of Object.entries(node)) if (key !== "data") legends(child, change);
  }

  async function draw(index) {
    const place = document.getElementById("chart-" + index);
    const spec = structuredClone(specs[index]);
    spec.data.values = spec.data.values.filter(visible);
    spec.data.values.push(...ghosts(spec.data.values));
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
    const options = { renderer: "svg", actions: false, ast: true, tooltip: { theme: "custom", formatTooltip: told } };
    const result = await vegaEmbed(place, fitted(spec, place.clientWidth), options);
    drawn.set(index, result);
    result.view.addEventListener("click", (event, item) => {
      const task = item && item.datum && item.datum.task;
      if (task && document.getElementById("filters")) choose("task", task, true);
    });
  }

  // Where some panels have trials, levels or a dashed line, each gets one that is not seen, or Vega warns of an axis
  // without an extent.
  function ghosts(rows) {
    const added = [];
    for (const role of ["trial", "level", "dashed"]) {
      const some = rows.find((row) => row.role === role);
      const shown = new Set(rows.filter((row) => row.role === role).map((row) => row.facet));
      const means = rows.filter((row) => row.role === "mean" && !shown.has(row.facet));
      const panels = some ? new Map(means.map((row) => [row.facet, row])) : new Map();
      for (const row of panels.values()) added.push({ ...row, role, series: some.series, low: null, high: null, ghost: true });
    }
    return added;
  }

  // What a mark has no value of is not told.
  function told(value, sanitize) {
    const lines = Object.entries(value).filter(([, text]) => !["", "null", "undefined", "NaN"].includes(String(text)));
    const row = ([key, text]) => `<tr><td class="key">${sanitize(key)}</td><td class="value">${sanitize(text)}</td></tr>`;
    return `<table>${lines.map(row).join("")}</table>`;
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
    for (const element of document.querySelectorAll("tr[data-task], li[data-task], span[data-task]"))
      element.hidden = !keeps("task", element.dataset.task);
    drawAll();
  }

  for (const button of document.querySelectorAll("button[data-kind]"))
    button.addEventListener("click", () => choose(button.dataset.kind, button.dataset.value, false));
  const everything = document.getElementById("everything");
  if (everything) everything.addEventListener("click", () => { chosen.task.clear(); chosen.size.clear(); show(); });

  // The link of the section that is being read is marked.
  const links = [...document.querySelectorAll("nav a[href^='#']")];
  const sections = links.map((link) => document.querySelector(link.hash)).filter(Boolean);
  function here() {
    const passed = sections.filter((section) => section.getBoundingClientRect().top < 140);
    const current = passed.length ? passed[passed.length - 1] : null;
    for (const link of links)
      current && link.hash === "#" + current.id ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
  }
  window.addEventListener("scroll", here, { passive: true });
  here();

  // A page that is being renewed is read again where the reader is; not while something is being typed or chosen.
  const seconds = Number(document.body.dataset.renewed || 0);
  const busy = () => chosen.task.size + chosen.size.size > 0 || (document.getElementById("trial-search") || {}).value;
  if (seconds) setInterval(() => { if (!busy()) location.reload(); }, 1000 * seconds);

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
