// A graph in columns by kind, a click for what a node is joined to, a field that finds nodes by their words, and the same
// nodes as a table for the keyboard. What is drawn comes from the page and from the address in data-more.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const place = document.getElementById("graph");
  if (!place) return;
  const { colour, data } = window.phronesis;
  const said = data("said");
  const LAYERS = Object.keys(said.names);
  const COLOURS = { artifact: "quiet", user: "main", person: "pattern", organisation: "principle", place: "l1", project: "good",
    thing: "warn", unknown: "quiet" };
  const SIZES = { principle: 30, user: 30, pattern: 24, artifact: 12 };
  const HAN = /[\u3400-\u9fff]/; // written without spaces: a line may end anywhere
  const shortened = (text) => (text.length > 54 ? `${text.slice(0, 53)}…` : text);
  const nodes = new Map();
  const links = new Map();
  const told = document.getElementById("told");

  const style = () => [
    { selector: "node", style: {
      "background-color": (node) => colour(COLOURS[node.data("kind")] ?? node.data("kind")),
      shape: (node) => (node.data("kind") === "artifact" ? "round-rectangle" : "ellipse"),
      width: (node) => SIZES[node.data("kind")] ?? 16,
      height: (node) => SIZES[node.data("kind")] ?? 16,
      "border-width": 3,
      "border-color": (node) => colour({ success: "good", failure: "bad" }[node.data("tone")] ?? "line"),
      label: (node) => shortened(node.data("label")), color: colour("text"), "font-size": 12, "font-family": "system-ui, sans-serif",
      "text-background-color": colour("card"), "text-background-opacity": 0.85, "text-background-padding": "2px",
      "text-halign": "right", "text-valign": "center", "text-margin-x": 6, "text-wrap": "wrap",
      "text-overflow-wrap": (node) => (HAN.test(node.data("label")) ? "anywhere" : "whitespace"), "text-max-width": "185px", "min-zoomed-font-size": 7,
      opacity: (node) => (node.data("faded") ? 0.5 : 1),
    } },
    { selector: "node:selected", style: { "border-color": colour("main"), "border-width": 5, "font-weight": 700 } },
    { selector: "edge", style: {
      width: 1.6, "line-color": colour("quiet"), opacity: 0.55, "curve-style": "bezier", "target-arrow-shape": "triangle",
      "target-arrow-color": colour("quiet"), "arrow-scale": 0.8,
    } },
    { selector: "edge[label != '']", style: {
      label: "data(label)", "font-size": 11, color: colour("quiet"), "text-background-color": colour("card"),
      "text-background-opacity": 0.9, "text-background-padding": "2px", opacity: 0.9, "min-zoomed-font-size": 6,
    } },
    { selector: 'edge[relation = "contradicts"]', style: {
      "line-color": colour("bad"), "target-arrow-color": colour("bad"), "line-style": "dashed", opacity: 0.9,
    } },
    { selector: 'edge[relation = "refines"]', style: { "line-style": "dotted" } },
    { selector: ".dim", style: { opacity: 0.12 } },
  ];

  const take = (walked) => {
    const before = nodes.size;
    for (const node of walked.nodes) nodes.set(node.id, node);
    for (const link of walked.links) links.set(`${link.source}>${link.relation}>${link.target}`, link);
    return nodes.size - before;
  };

  const neighbours = () => {
    const joined = new Map([...nodes.keys()].map((id) => [id, []]));
    for (const { source, target } of links.values()) {
      joined.get(source)?.push(target);
      joined.get(target)?.push(source);
    }
    return joined;
  };

  // A graph of layers has a column for each kind; another one for each number of steps from where it begins.
  const columnsOf = (joined) => {
    if (place.dataset.more) return LAYERS.map((kind) => [...nodes.values()].filter((node) => node.kind === kind).map((node) => node.id));
    const { starts } = data("walked");
    const fullest = [...joined.keys()].sort((a, b) => joined.get(b).length - joined.get(a).length)[0];
    const columns = [starts.length ? starts : [fullest]];
    const seen = new Set(columns[0]);
    while (columns.at(-1).length) {
      columns.push([...new Set(columns.at(-1).flatMap((id) => joined.get(id)))].filter((id) => !seen.has(id)));
      for (const id of columns.at(-1)) seen.add(id);
    }
    return [...columns, [...nodes.keys()].filter((id) => !seen.has(id))];
  };

  // Within a column, nodes stand by where those stand that they are joined to.
  const places = () => {
    const joined = neighbours();
    const columns = columnsOf(joined).filter((column) => column.length);
    const height = Math.max(...columns.map((column) => column.length));
    const at = new Map();
    columns.forEach((column, n) => {
      const mean = (id) => {
        const known = joined.get(id).filter((one) => at.has(one)).map((one) => at.get(one).y);
        return known.length ? known.reduce((a, b) => a + b, 0) / known.length : Infinity;
      };
      column.map((id) => [mean(id), id]).sort((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : 1)).forEach(([, id], row) => {
        const gap = (height * 44) / column.length;
        at.set(id, { x: n * 270, y: (row + 0.5) * gap });
      });
    });
    return at;
  };

  const cy = window.cytoscape({ container: place, style: style(), userZoomingEnabled: false, boxSelectionEnabled: false,
    minZoom: 0.15, maxZoom: 3 });
  const READABLE = 0.62; // below it, no label can be read
  const fit = () => {
    cy.resize();
    cy.fit(cy.elements(), 24);
    if (cy.zoom() > 1.25) {
      cy.zoom(1.25);
      cy.center();
    }
  };
  const view = () => {
    fit();
    if (cy.zoom() >= READABLE) return;
    const { x1, y1, y2 } = cy.elements().boundingBox();
    cy.zoom(READABLE);
    cy.pan({ x: 24 - x1 * READABLE, y: cy.height() / 2 - ((y1 + y2) / 2) * READABLE });
  };
  const draw = () => {
    for (const node of nodes.values()) if (cy.getElementById(node.id).empty()) cy.add({ group: "nodes", data: node });
    for (const [id, link] of links) {
      const both = cy.getElementById(link.source).nonempty() && cy.getElementById(link.target).nonempty();
      if (both && cy.getElementById(id).empty()) cy.add({ group: "edges", data: { id, ...link } });
    }
    const at = places();
    cy.nodes().forEach((node) => node.position(at.get(node.id())));
    view();
    list();
  };

  const element = (name, given = {}, ...inner) => {
    const made = Object.assign(document.createElement(name), given);
    made.append(...inner);
    return made;
  };
  // A row for each node: a button that shows what it is joined to, a link to its page, and the nodes that are joined to it.
  const list = () => {
    const focused = document.activeElement?.dataset?.node;
    const joined = neighbours();
    const rows = LAYERS.flatMap((kind) => [...nodes.values()].filter((node) => node.kind === kind)).map((node) => {
      const button = element("button", { type: "button", textContent: node.label, title: said.around });
      button.dataset.node = node.id;
      button.addEventListener("click", () => expand(node.id));
      const open = element("a", { href: node.address, textContent: said.open, ariaLabel: `${said.open}: ${node.label}` });
      const tone = said[node.tone] ? [" ", element("span", { className: `badge label-${node.tone}`, textContent: said[node.tone] })] : [];
      const beside = [...new Set(joined.get(node.id))].map((id) => nodes.get(id)?.label).filter(Boolean);
      const rest = beside.length > 3 ? ` ${said.more.replace("#", beside.length - 3)}` : "";
      return element("tr", {},
        element("th", { scope: "row" }, ...(node.address ? [button, " ", open] : [node.label])),
        element("td", {}, said.names[node.kind], ...tone), element("td", { textContent: node.at }),
        element("td", { textContent: beside.slice(0, 3).map(shortened).join("; ") + rest }));
    });
    document.getElementById("nodes").replaceChildren(...rows);
    document.getElementById("count").textContent = nodes.size;
    if (focused) document.querySelector(`[data-node="${CSS.escape(focused)}"]`)?.focus();
    find();
  };

  const finder = document.getElementById("find-node");
  const find = () => {
    const wanted = finder.value.trim().toLowerCase();
    const missed = (text) => wanted !== "" && !text.toLowerCase().includes(wanted);
    for (const row of document.querySelectorAll("#nodes tr")) row.hidden = missed(row.cells[0].textContent);
    cy.nodes().forEach((node) => node.toggleClass("dim", missed(node.data("label"))));
    cy.edges().forEach((edge) => edge.toggleClass("dim", edge.connectedNodes(".dim").nonempty()));
  };
  finder.addEventListener("input", find);

  const expand = async (id) => {
    const node = nodes.get(id);
    cy.elements().unselect();
    cy.getElementById(id).select();
    if (!node?.address) return;
    if (!place.dataset.more) {
      around(id);
      return;
    }
    const query = new URLSearchParams({ id });
    const answer = await fetch(`${place.dataset.more}&${query}`, { headers: { accept: "application/json" } });
    if (!answer.ok || !answer.headers.get("content-type")?.includes("json")) {
      window.location.assign(node.address); // its page says what is wrong
      return;
    }
    const walked = await answer.json();
    const added = take(walked);
    draw();
    const left = walked.left_out[id] ? ` ${said.left.replace("#", walked.left_out[id])}` : "";
    told.textContent = `${node.label}: ${added ? said.new.replace("#", added) : said.none}${left}`;
  };

  // All of a graph without further parts is there: show a node with what it is joined to, and fade the others.
  const around = (id) => {
    const near = cy.getElementById(id).closedNeighborhood();
    cy.elements().addClass("dim");
    near.removeClass("dim");
    told.textContent = `${nodes.get(id).label}: ${near.nodes().map((one) => one.data("label")).filter((one) => one !== nodes.get(id).label).join("; ")}`;
  };

  take(data("walked"));
  draw();
  for (const start of data("walked").starts) cy.getElementById(start).select();
  cy.on("tap", "node", (event) => expand(event.target.id()));
  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => {
      if (button.dataset.zoom === "fit") fit();
      else cy.zoom({ level: cy.zoom() * Number(button.dataset.zoom), renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
    });
  }
  new ResizeObserver(view).observe(place);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => cy.style(style()));
});
