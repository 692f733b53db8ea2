// What pages need beyond htmx: the menu of a narrow screen, "/" to search, a question before what is not easily undone,
// filters that fold away, notices that close, and charts drawn from the JSON beside them. Pages work without it.
"use strict";

(() => {
  const menu = document.querySelector(".menu");
  const side = document.getElementById("side");
  menu?.addEventListener("click", () => {
    const open = side.classList.toggle("open");
    menu.setAttribute("aria-expanded", String(open));
  });

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      document.getElementById("find")?.focus();
    }
  });

  document.addEventListener("submit", (event) => {
    const question = event.target.dataset.confirm;
    if (question && !window.confirm(question)) event.preventDefault();
  });

  // Filters: open on a wide screen; on a narrow one they are folded away. For browsers without ::details-content.
  const wide = window.matchMedia("(min-width: 761px)");
  const unfold = () => {
    if (wide.matches) for (const fold of document.querySelectorAll("details.fold")) fold.open = true;
  };
  unfold();
  wide.addEventListener("change", unfold);

  // A notice is closed by its button, or by Escape.
  document.addEventListener("click", (event) => event.target.closest?.("#notices .close")?.closest(".notice").remove());
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") document.querySelector("#notices .notice")?.remove();
  });

  // An action replaces the part of the page that it was called from: the focus stays in it.
  let acted = "";
  document.addEventListener("focusin", (event) => {
    acted = event.target.closest?.(".body[id]")?.id ?? "";
  });
  document.addEventListener("htmx:after:settle", () => {
    if (acted && document.activeElement === document.body) {
      document.getElementById(acted)?.querySelector("a, button")?.focus({ preventScroll: true });
    }
  });

  // <button data-copy="id of an element" data-copied="what to say then">; where there is no clipboard it is selected
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-copy]");
    if (!button) return;
    const place = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(place.textContent);
      button.textContent = button.dataset.copied;
    } catch {
      window.getSelection().selectAllChildren(place);
    }
  });

  // <input type="checkbox" data-all="id of a form">: all that can be chosen for it
  document.addEventListener("change", (event) => {
    const form = event.target.dataset?.all;
    if (!form) return;
    for (const box of document.querySelectorAll(`input[type="checkbox"][name][form="${form}"]`)) {
      box.checked = event.target.checked;
    }
  });

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  window.phronesis = { colour, data: (id) => JSON.parse(document.getElementById(id).textContent) };

  // <div class="chart" data-chart="id of a script element with ECharts options">; a colour "--bad" is the style sheet's.
  const coloured = (value) => {
    if (typeof value === "string") return /^--[a-z0-9-]+$/.test(value) ? colour(value.slice(2)) : value;
    if (Array.isArray(value)) return value.map(coloured);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, coloured(inner)]));
  };
  const draw = () => {
    for (const place of document.querySelectorAll("[data-chart]")) {
      const options = coloured(window.phronesis.data(place.dataset.chart));
      const chart = window.echarts.init(place);
      chart.setOption({
        color: [colour("main"), colour("good"), colour("warn"), colour("bad"), colour("pattern")],
        textStyle: { color: colour("text"), fontFamily: "inherit" },
        ...options,
      });
      new ResizeObserver(() => chart.resize()).observe(place);
    }
  };
  document.addEventListener("DOMContentLoaded", draw); // when a page's own scripts are there
})();
