"use strict";
// Draws the data of model_graph_data.py with what model_graph_scene.js, which stands in front of this, makes of it.

function element(name, attributes, parent) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent.append(made);
  return made;
}

function written(parent, name, x, y, text, anchor) {
  const made = element("text", { class: name, x, y, ...(anchor ? { "text-anchor": anchor } : {}) }, parent);
  made.textContent = text;
  return made;
}

function named(parent, part, x, y, inHead, tint) {
  const made = written(parent, inHead ? "name words" : "name", x, y, part.name, inHead ? "" : "middle");
  if (inHead) made.style.cssText = `font-size:12px;stroke:${tint}`;
  const beside = [part.beside, inHead ? part.below : ""].filter(Boolean).join(" ");
  if (!beside) return;
  const quiet = element("tspan", { class: "quiet", dx: 6, style: "font-weight:400" }, made);
  quiet.textContent = beside;
}

function rounded(parent, box, radius, shift, name) {
  const { x, y, width, height } = box;
  element("rect", { x: x + shift, y: y + shift, width, height, rx: radius, ...(name ? { class: name } : {}) }, parent);
}

function clickable(node, part, change) {
  node.setAttribute("tabindex", 0);
  node.setAttribute("data-key", part.key);
  node.classList.add("opens");
  node.addEventListener("click", () => change(part.key));
  node.addEventListener("keydown", (event) => event.key === "Enter" && change(part.key));
}

function titled(node, text) {
  if (text) element("title", {}, node).textContent = text;
}

function show(data, open, sheet, change) {
  const scene = composed(data, open);
  const margin = 18, tint = (depth) => `color-mix(in srgb, #1f6feb ${100 * (1 - 0.955 ** depth)}%, white)`;
  sheet.querySelectorAll("g").forEach((each) => each.remove());
  sheet.setAttribute("width", scene.width + 2 * margin);
  sheet.setAttribute("height", scene.height + 2 * margin);
  const all = element("g", { transform: `translate(${margin} ${margin - data.head + 12})` }, sheet);
  for (const box of scene.frames) rounded(element("g", { class: `frame ${box.part.kind}` }, all), box, 8, 0);
  for (const line of scene.lines) {
    const tip = line.arrow ? { "marker-end": "url(#td-tip)" } : {};
    titled(element("path", { class: "line", d: pathOf(line), ...tip }, all), line.told);
  }
  for (const box of scene.frames) {
    const head = element("g", { class: "head" }, all);
    titled(head, box.part.full);
    element("rect", { x: box.x, y: box.y, width: box.width, height: data.head, fill: "transparent" }, head);
    named(head, box.part, box.x + 12, box.y + 17, true, tint(box.depth + 1));
    clickable(head, box.part, change);
  }
  for (const { text, x, y } of scene.words) written(all, "words", x, y + 3.5, text, "middle");
  for (const box of scene.boxes) {
    const group = element("g", { class: `box ${box.part.kind}` }, all);
    titled(group, box.part.full);
    const x = box.x + box.width / 2, y = box.y + box.height / 2;
    if (box.part.stacked) rounded(group, box, 6, 4, "behind");
    rounded(group, box, { input: 14, output: 14, operation: 10 }[box.part.kind] || 6, 0);
    named(group, box.part, x, box.part.below ? y - 3 : y + 4.5, false);
    if (box.part.below) written(group, "small", x, y + 12, box.part.below, "middle");
    if (box.part.opens) clickable(group, box.part, change);
  }
}

function start() {
  const data = JSON.parse(document.getElementById("td-data").textContent);
  const sheet = document.getElementById("td-sheet");
  let open = new Set(data.opened);
  const top = (key) => sheet.querySelector(`[data-key="${CSS.escape(key)}"]`)?.getBoundingClientRect().top;
  const redraw = () => show(data, open, sheet, change);
  function change(key) {
    const before = top(key);
    if (!open.delete(key)) open.add(key);
    redraw();
    window.scrollBy(0, top(key) - before);  // what was clicked stays under the pointer
    sheet.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
  }
  const choose = (id, keys) => document.getElementById(id).addEventListener("click", () => {
    open = new Set(keys);
    redraw();
  });
  choose("td-first", data.opened);
  choose("td-close", []);
  redraw();
}

if (typeof document !== "undefined") start();
