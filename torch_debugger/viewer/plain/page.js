// The plain page of the tab "Debugger". Text of a run is only ever set as text, never as HTML.

const NOT_FINITE = "#e3007e"; // NaN and Inf: a colour that the scale does not have
const UNMEASURED = "#e9ebee";
// From dark blue over green to yellow: even in lightness, and told apart by every kind of colour vision.
const SCALE = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
const LABELS_PX = 230, AXIS_PX = 34, ROW_PX = 18;
const SIGNED = new Set(["mean", "min", "max"]);

function element(kind, attributes = {}, ...children) {
  const made = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return made;
}

async function ask(route, parameters = {}) {
  const answer = await fetch(`./${route}?${new URLSearchParams(parameters)}`);
  const plain = await answer.json();
  if (plain.error) throw new Error(plain.error);
  return plain;
}

function short(value) {
  if (typeof value !== "number") return String(value);
  if (value === 0 || (Math.abs(value) >= 1e-3 && Math.abs(value) < 1e5)) return String(Number(value.toPrecision(4)));
  return value.toExponential(2);
}

function chooser(title, options, chosen, changed) {
  const select = element("select");
  for (const [value, text] of options) select.append(new Option(text, value, false, value === chosen));
  select.addEventListener("change", () => changed(select.value));
  return element("label", {}, `${title} `, select);
}

// Findings

function place(where) {
  const file = where.file ? `${where.file}${where.line ? `:${where.line}` : ""}` : "";
  return [file, where.module].filter(Boolean).join(" in ");
}

function steps(finding) {
  const { first_step: first, last_step: last } = finding;
  return first === last ? `step ${first}` : `steps ${first} to ${last}`;
}

function editOf(edit) {
  const before = (edit.before ?? "").split("\n").filter(Boolean), after = (edit.after ?? "").split("\n").filter(Boolean);
  const line = (text, kind, sign) => element("div", { class: kind }, `${sign} ${text}`);
  const removed = before.filter((text) => !after.includes(text)).map((text) => line(text, "removed", "-"));
  const others = after.map((text) => (before.includes(text) ? line(text, "", " ") : line(text, "added", "+")));
  return element("pre", {}, element("div", { class: "quiet" }, `${edit.file}:${edit.line}`), ...removed, ...others);
}

function findingCard(finding, isVerdict, cause) {
  const rows = [];
  const row = (title, ...content) => rows.push(element("dt", {}, title), element("dd", {}, ...content));
  if (place(finding.where)) row("where", place(finding.where));
  row("when", steps(finding));
  if (cause) row("symptom of", cause.name);
  const evidence = Object.entries(finding.evidence).map(([name, value]) => `${name.replaceAll("_", " ")} ${short(value)}`);
  if (evidence.length) row("evidence", evidence.join("\n"));
  if (finding.why) row("why", finding.why);
  if (finding.fix) row("fix", finding.fix, ...(finding.edit ? [editOf(finding.edit)] : []));
  return element("article", { class: `finding ${finding.severity}${isVerdict ? " verdict" : ""}${cause ? " symptom" : ""}` },
    element("div", {}, element("span", { class: "severity" }, finding.severity), " ",
      element("span", { class: "name" }, finding.name), " ",
      element("span", { class: "quiet" }, `${finding.check}${isVerdict ? ", the verdict: act on this first" : ""}`)),
    element("p", { class: "message" }, finding.message), element("dl", {}, ...rows));
}

function findingsView(told) {
  const words = [told.script, told.status, `${told.steps} steps`].filter(Boolean).join(", ");
  const view = element("section", {}, element("h2", {}, "Findings"), element("p", { class: "quiet" }, words));
  if (!told.findings.length) view.append(element("p", {}, "Nothing wrong was found in this run."));
  told.findings.forEach((finding, place) => view.append(findingCard(finding, place === told.verdict, told.findings[finding.symptom_of])));
  for (const sentence of told.damage) view.append(element("p", { class: "quiet" }, sentence));
  return view;
}

function settingsView(told) {
  const rows = [...Object.entries(told.hparams), ...Object.entries(told.seeds).map(([name, seed]) => [`seed of ${name}`, seed])];
  if (!rows.length) return "";
  const cells = rows.map(([name, value]) => element("tr", {}, element("th", {}, name), element("td", {}, short(value))));
  return element("section", {}, element("h2", {}, "Settings"), element("table", {}, ...cells));
}

// The heat map

function colour(share) {
  const position = Math.min(Math.max(share, 0), 1) * (SCALE.length - 1);
  const low = Math.min(Math.floor(position), SCALE.length - 2);
  const mixed = SCALE[low].map((from, part) => Math.round(from + (SCALE[low + 1][part] - from) * (position - low)));
  return `rgb(${mixed})`;
}

// Positive numbers that span decades are shown by their logarithm, all others as they are.
function scaleOf(grid) {
  const finite = grid.values.flat().filter((value) => typeof value === "number");
  const positive = finite.filter((value) => value > 0);
  const low = finite.reduce((a, b) => Math.min(a, b), Infinity), high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  const least = positive.reduce((a, b) => Math.min(a, b), Infinity);
  const log = !SIGNED.has(grid.column) && low >= 0 && high > 100 * least && grid.column !== "zeros";
  const place = log ? (value) => (value > 0 ? Math.log(value / least) / Math.log(high / least) : 0)
    : (value) => (high > low ? (value - low) / (high - low) : 0.5);
  return { low: log ? least : low, high, log, place, any: finite.length > 0 };
}

function cellColour(value, scale) {
  if (value === null) return UNMEASURED;
  return typeof value === "number" ? colour(scale.place(value)) : NOT_FINITE;
}

function fitted(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let cut = text;
  while (cut && context.measureText(`…${cut}`).width > width) cut = cut.slice(1);
  return `…${cut}`;
}

function drawAxis(context, grid, cell, bottom) {
  context.fillStyle = "#5b6470";
  context.textAlign = "left";
  const every = Math.max(1, Math.ceil(70 / cell));
  for (let column = 0; column < grid.steps.length; column += every) {
    context.fillRect(LABELS_PX + column * cell, bottom, 1, 4);
    context.fillText(grid.steps[column], LABELS_PX + column * cell, bottom + 15);
  }
  context.fillText("step", LABELS_PX, bottom + 30);
}

function drawHeat(canvas, grid, scale) {
  const cell = Math.min(40, Math.max(2, Math.floor((1140 - LABELS_PX) / grid.steps.length)));
  const width = LABELS_PX + cell * grid.steps.length + 40, height = ROW_PX * grid.names.length + AXIS_PX;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.font = "12px system-ui, sans-serif";
  grid.names.forEach((name, row) => {
    context.fillStyle = "#1c2127";
    context.textAlign = "right";
    context.fillText(fitted(context, name, LABELS_PX - 14), LABELS_PX - 8, row * ROW_PX + 13);
    grid.values[row].forEach((value, column) => {
      context.fillStyle = cellColour(value, scale);
      context.fillRect(LABELS_PX + column * cell, row * ROW_PX, cell, ROW_PX - 1);
    });
  });
  drawAxis(context, grid, cell, ROW_PX * grid.names.length);
  return cell;
}

function cellWords(grid, row, column) {
  const value = grid.values[row][column];
  const told = value === null ? "not measured" : typeof value === "number" ? short(value) : { nan: "NaN" }[value] ?? value;
  return `${grid.names[row]}, step ${grid.steps[column]}: ${grid.column.replaceAll("_", " ")} ${told}`;
}

function legend(scale) {
  const swatch = (fill, text) => {
    const square = element("span", { class: "swatch" });
    square.style.background = fill;
    return element("span", {}, square, text);
  };
  const ramp = [0, 0.25, 0.5, 0.75, 1].map((share) => swatch(colour(share), share === 0 ? short(scale.low) : share === 1 ? short(scale.high) : ""));
  const marks = [swatch(NOT_FINITE, "NaN or Inf"), swatch(UNMEASURED, "not measured")];
  return element("div", { class: "legend" }, ...(scale.any ? ramp : []), scale.log ? "(logarithmic)" : "", ...marks);
}

function heatView(grid) {
  if (!grid.names.length || !grid.steps.length) return element("p", {}, "This number was not measured in this run.");
  const scale = scaleOf(grid), canvas = element("canvas"), said = element("div", { class: "said quiet" });
  const cell = drawHeat(canvas, grid, scale);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${grid.column} of ${grid.names.length} layers over ${grid.steps.length} steps`);
  canvas.addEventListener("mousemove", (event) => {
    const column = Math.floor((event.offsetX - LABELS_PX) / cell), row = Math.floor(event.offsetY / ROW_PX);
    const inside = column >= 0 && column < grid.steps.length && row >= 0 && row < grid.names.length;
    said.textContent = inside ? cellWords(grid, row, column) : "";
  });
  const left = [];
  if (grid.all_steps > grid.steps.length) left.push(`${grid.steps.length} of ${grid.all_steps} measured steps are shown; none with NaN or Inf hides behind a finite one.`);
  if (grid.all_layers > grid.names.length) left.push(`${grid.names.length} of ${grid.all_layers} layers are shown.`);
  return element("div", {}, legend(scale), said, element("div", { class: "heat" }, canvas), element("p", { class: "quiet" }, left.join(" ")));
}

async function layersView(run) {
  const view = element("section", {}, element("h2", {}, "Layers over time"));
  const { tables } = await ask("layers", { run });
  if (!tables.length) {
    view.append(element("p", {}, "No layer was measured in this run: it had no training step, or it logged scalars only."));
    return view;
  }
  const controls = element("div", { class: "controls" }), shown = element("div");
  let table = tables.find((each) => each.kind === "activation") ?? tables[0], column = table.columns[0];
  const show = async () => {
    controls.replaceChildren(
      chooser("Look at", tables.map((each, place) => [String(place), `${each.title} of ${each.root} (${each.layers} layers, ${each.steps} steps)`]),
        String(tables.indexOf(table)), (place) => { table = tables[place]; column = table.columns[0]; void show(); }),
      chooser("number", table.columns.map((each) => [each, each.replaceAll("_", " ")]), column, (name) => { column = name; void show(); }));
    try {
      shown.replaceChildren(heatView(await ask("layers", { run, kind: table.kind, root: table.root, column })));
    } catch (error) {
      shown.replaceChildren(element("p", {}, error.message));
    }
  };
  column = table.columns.includes("std") ? "std" : column;
  view.append(controls, shown);
  await show();
  return view;
}

// Curves

function drawCurve(canvas, curve) {
  const width = 900, height = 170, left = 70, bottom = 24;
  const ratio = window.devicePixelRatio || 1, context = canvas.getContext("2d");
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  context.scale(ratio, ratio);
  context.font = "12px system-ui, sans-serif";
  const finite = curve.values.filter((value) => typeof value === "number");
  const low = Math.min(...finite), high = Math.max(...finite), first = curve.steps[0], last = curve.steps[curve.steps.length - 1];
  const x = (step) => left + (last > first ? (step - first) / (last - first) : 0.5) * (width - left - 20);
  const y = (value) => 10 + (high > low ? (high - value) / (high - low) : 0.5) * (height - bottom - 20);
  context.strokeStyle = "rgb(59, 82, 139)";
  context.beginPath();
  let broken = true;
  curve.values.forEach((value, place) => {
    if (typeof value !== "number") {
      context.fillStyle = NOT_FINITE;
      context.fillRect(x(curve.steps[place]) - 1, 10, 2, height - bottom - 20);
    } else if (broken) context.moveTo(x(curve.steps[place]), y(value));
    else context.lineTo(x(curve.steps[place]), y(value));
    broken = typeof value !== "number";
  });
  context.stroke();
  context.fillStyle = "#5b6470";
  context.textAlign = "right";
  if (finite.length) {
    context.fillText(short(high), left - 8, 16);
    context.fillText(short(low), left - 8, height - bottom - 6);
  }
  context.fillText(last, width - 20, height - 6);
  context.textAlign = "left";
  context.fillText(`step ${first}`, left, height - 6);
}

async function curvesView(run) {
  const { tags } = await ask("scalars", { run });
  if (!tags.length) return "";
  const controls = element("div", { class: "controls" }), canvas = element("canvas"), said = element("p", { class: "quiet" });
  const show = async (tag) => {
    const curve = await ask("scalars", { run, tag });
    drawCurve(canvas, curve);
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${tag} over ${curve.all_points} points`);
    const odd = curve.values.filter((value) => typeof value !== "number").length;
    said.textContent = `${curve.all_points} points${odd ? `, with NaN or Inf where the line is broken and marked` : ""}.`;
  };
  const first = tags.includes("loss") ? "loss" : tags[0];
  controls.append(chooser("Curve", tags.map((tag) => [tag, tag]), first, (tag) => void show(tag)));
  await show(first);
  return element("section", {}, element("h2", {}, "Curves"), controls, canvas, said);
}

async function showRun(name, shown) {
  shown.replaceChildren(element("p", { class: "quiet" }, "Reading the run."));
  try {
    const told = await ask("findings", { run: name });
    shown.replaceChildren(findingsView(told), await layersView(name), await curvesView(name), settingsView(told));
  } catch (error) {
    shown.replaceChildren(element("p", {}, error.message));
  }
}

export async function render() {
  document.head.append(element("link", { rel: "stylesheet", href: "./page.css" }));
  const header = element("header"), shown = element("div");
  document.body.append(element("main", {}, header, shown));
  try {
    const { runs } = await ask("runs");
    if (!runs.length) {
      shown.append(element("p", {}, "There is no run of torch-debugger in this folder. Make one with: torch-debugger run train.py"));
      return;
    }
    const first = runs[0]; // the one that was written last
    header.append(chooser("Run", runs.map((name) => [name, name]), first, (name) => void showRun(name, shown)));
    await showRun(first, shown);
  } catch (error) {
    shown.append(element("p", {}, error.message));
  }
}
