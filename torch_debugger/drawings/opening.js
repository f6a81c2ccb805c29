"use strict";
// Draws the data of model_data.py. A click opens a part: its inside takes the place of its box, and the
// paper is stretched there. Distances only grow, so what did not touch before does not touch after.

function stretched(intervals) {
  const held = intervals.filter(([low, high, times]) => high > low && times > 1);
  const marks = [...new Set(held.flatMap(([low, high]) => [low, high]))].sort((a, b) => a - b);
  // Side by side they share the room, so the largest counts.
  const rates = marks.map((mark) =>
    Math.max(1, ...held.filter(([low, high]) => low <= mark && mark < high).map((each) => each[2])));
  return (place) => {
    let end = place;
    marks.forEach((mark, at) => {
      const next = at + 1 < marks.length ? marks[at + 1] : Infinity;
      if (place > mark) end += (Math.min(place, next) - mark) * (rates[at] - 1);
    });
    return end;
  };
}

// Whether all that is open at first is open, and as large as then: its layout fits best.
function fills(group, members) {
  return group.parts.every((part, at) => {
    if (!group.opened.includes(part.key)) return true;
    const [, , width, height] = group.open.places[at];
    return members[at] && members[at].width > width - 1 && members[at].height > height - 1;
  });
}

function opened(data, key, open) {
  const group = data.groups[key];
  const members = group.parts.map((part) => (part.opens && open.has(part.key) ? opened(data, part.key, open) : null));
  const inside = group.open && fills(group, members) ? group.open : group.closed;
  const across = [], down = [];
  members.forEach((member, at) => {
    if (!member) return;
    const [left, top, width, height, anchor] = inside.places[at];
    across.push([left, left + anchor, member.anchor / anchor]);
    across.push([left + anchor, left + width, (member.width - member.anchor) / (width - anchor)]);
    down.push([top, top + height, member.height / height]);
  });
  const x = stretched(across), y = stretched(down);
  const inner = x(inside.width);
  const margin = data.pad + Math.max(0, (group.title - inner) / 2);
  return {
    group, inside, members, x, y, margin,
    anchor: margin + x(inside.anchor),
    width: inner + 2 * margin,
    height: y(inside.height) + data.head + data.pad,
  };
}

function placeOf(here, at) {
  const [left, top, width, height, anchor] = here.inside.places[at];
  const member = here.members[at];
  const size = member || { width, height, anchor };
  return {
    x: here.x(left + anchor),
    left: here.x(left + anchor) - size.anchor,
    top: here.y(top + height / 2) - size.height / 2,
    width: size.width,
    height: size.height,
  };
}

function portOf(member, ends, tensor) {
  const [left, , , , anchor] = member.inside.places[ends[tensor]];
  return member.margin + member.x(left + anchor) - member.anchor;
}

function lineOf(data, here, wire) {
  const { inside } = here;
  const source = placeOf(here, wire.from), target = placeOf(here, wire.to);
  const from = here.members[wire.from], to = here.members[wire.to];
  const row = (number) => inside.rows[number].map(here.y);
  const enters = Object.values(inside.entries).includes(wire.from);
  const leaves = Object.values(inside.exits).includes(wire.to);
  const points = [[
    source.x + (from ? portOf(from, from.inside.exits, wire.tensor) : wire.leaves),
    enters ? -data.head : source.top + source.height,
    row(inside.places[wire.from][5])[1],
  ]];
  for (const [x, number] of wire.bends) points.push([here.x(x), ...row(number)]);
  const arrow = wire.to < here.members.length && !to;
  points.push([
    target.x + (to ? portOf(to, to.inside.entries, wire.tensor) : wire.reaches),
    row(inside.places[wire.to][5])[0] - (arrow ? data.tip : 0),
    leaves ? here.y(inside.height) + data.pad : target.top,
  ]);
  return { points, arrow, told: wire.told };
}

function drawInto(data, scene, here, left, top, depth) {
  const x = left + here.margin, y = top + data.head;
  here.group.parts.forEach((part, at) => {
    const place = placeOf(here, at);
    const box = { part, x: x + place.left, y: y + place.top, width: place.width, height: place.height, depth };
    (here.members[at] ? scene.frames : scene.boxes).push(box);
    if (here.members[at]) drawInto(data, scene, here.members[at], box.x, box.y, depth + 1);
  });
  here.inside.words.forEach((text, number) => {
    const place = placeOf(here, here.group.parts.length + number);
    scene.words.push({ text, x: x + place.x, y: y + place.top + place.height / 2 });
  });
  for (const wire of here.inside.wires) {
    const line = lineOf(data, here, wire);
    line.points = line.points.map(([px, upper, lower]) => [x + px, y + upper, y + lower]);
    scene.lines.push(line);
  }
}

function composed(data, open) {
  const root = opened(data, "", open);
  const scene = { width: root.width, height: root.height, frames: [], boxes: [], words: [], lines: [] };
  drawInto(data, scene, root, 0, 0, 0);
  return scene;
}

function pathOf(line) {
  let [x, upper, lower] = line.points[0];
  let path = `M${x} ${upper}V${lower}`;
  for (const [x2, upper2, lower2] of line.points.slice(1)) {
    const middle = (lower + upper2) / 2;
    path += `C${x} ${middle} ${x2} ${middle} ${x2} ${upper2}V${lower2}`;
    [x, lower] = [x2, lower2];
  }
  return path;
}

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
