// The data of model_graph_data.py with any parts open: a part's inside takes the place of its box, and the paper is
// stretched there. Distances only grow, so what did not touch before does not touch after.

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

export function composed(data, open) {
  const root = opened(data, "", open);
  const scene = { width: root.width, height: root.height, frames: [], boxes: [], words: [], lines: [] };
  drawInto(data, scene, root, 0, 0, 0);
  return scene;
}

export function pathOf(line) {
  let [x, upper, lower] = line.points[0];
  let path = `M${x} ${upper}V${lower}`;
  for (const [x2, upper2, lower2] of line.points.slice(1)) {
    const middle = (lower + upper2) / 2;
    path += `C${x} ${middle} ${x2} ${middle} ${x2} ${upper2}V${lower2}`;
    [x, lower] = [x2, lower2];
  }
  return path;
}
