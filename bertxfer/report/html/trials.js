"use strict";
// The table of trials: sorted, filtered and searched here; rows are made as they are asked for.
(() => {
  const table = document.getElementById("trial-table");
  if (!table) return;
  const { columns, rows } = JSON.parse(document.getElementById("trial-rows").textContent);
  const STEP = 200;
  const found = (id) => document.getElementById(id);
  const at = Object.fromEntries(columns.map((column, i) => [column.key, i]));
  const texts = rows.map((row) => row.join("\u0001").toLowerCase());
  const selects = [...document.querySelectorAll(".search select")];
  const state = { sort: null, down: false, shown: STEP, only: null, reason: null };

  for (const select of selects) {
    const values = [...new Set(rows.map((row) => row[at[select.dataset.column]]))];
    for (const value of values) select.append(new Option(value, value));
    if (values.length < 2) select.parentElement.hidden = true;
    select.addEventListener("change", again);
  }

  for (const [i, column] of columns.entries()) {
    const head = document.createElement("th");
    head.scope = "col";
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.textContent = column.label;
    if (column.numeric) head.className = "num";
    button.addEventListener("click", () => {
      state.down = state.sort === i ? !state.down : false;
      state.sort = i;
      again();
    });
    head.append(button);
    table.tHead.rows[0].append(head);
  }

  const order = new Intl.Collator("en", { numeric: true });
  function compare(a, b) {
    const one = rows[a][state.sort], other = rows[b][state.sort];
    // What has no value is last, whichever way the others are.
    if (one === null || other === null) return one === other ? a - b : one === null ? 1 : -1;
    const by = columns[state.sort].numeric ? one - other : order.compare(one, other);
    return (state.down ? -by : by) || a - b;
  }

  function chosen() {
    const words = found("trial-search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = selects.filter((select) => select.value).map((select) => [at[select.dataset.column], select.value]);
    const kept = [];
    for (let i = 0; i < rows.length; i++) {
      if (state.reason !== null && rows[i][at.reason] !== state.reason) continue;
      if (!wanted.every(([column, value]) => rows[i][column] === value)) continue;
      if (words.every((word) => texts[i].includes(word))) kept.push(i);
    }
    return state.sort === null ? kept : kept.sort(compare);
  }

  function draw() {
    const kept = chosen();
    const body = document.createDocumentFragment();
    for (const i of kept.slice(0, state.shown)) {
      const line = document.createElement("tr");
      for (const [j, value] of rows[i].entries()) {
        const cell = document.createElement(j === 0 ? "th" : "td");
        if (j === 0) cell.scope = "row";
        if (columns[j].numeric) cell.className = "num";
        cell.textContent = value === null ? "" : columns[j].digits === undefined ? value : value.toFixed(columns[j].digits);
        line.append(cell);
      }
      body.append(line);
    }
    table.tBodies[0].replaceChildren(body);
    for (const [i, head] of [...table.tHead.rows[0].cells].entries())
      head.setAttribute("aria-sort", i !== state.sort ? "none" : state.down ? "descending" : "ascending");
    const there = Math.min(kept.length, state.shown);
    const part = there < kept.length ? `, the first ${there} of them here` : "";
    const why = state.reason === null ? "" : ` with the reason “${state.reason}”`;
    found("trial-count").textContent = `${kept.length} of ${rows.length} trials${why}${part}.`;
    for (const id of ["more-trials", "all-trials"]) found(id).hidden = there === kept.length;
    table.dataset.matching = kept.length;
  }

  function again() {
    state.shown = STEP;
    draw();
  }

  found("trial-search").addEventListener("input", again);
  document.querySelector(".search").addEventListener("submit", (event) => event.preventDefault());
  document.querySelector(".search").addEventListener("reset", () => {
    state.reason = null;
    setTimeout(again);
  });
  found("more-trials").addEventListener("click", () => { state.shown += STEP; draw(); });
  found("all-trials").addEventListener("click", () => { state.shown = rows.length; draw(); });
  for (const button of document.querySelectorAll("button[data-reason]"))
    button.addEventListener("click", () => {
      document.querySelector(".search").reset();
      setTimeout(() => {
        state.reason = button.dataset.reason;
        again();
        found("trials").scrollIntoView();
        found("trial-search").focus();
      });
    });
  // On paper everything is there.
  window.addEventListener("beforeprint", () => { state.shown = rows.length; draw(); });
  draw();
})();
