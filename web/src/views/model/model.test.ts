import { describe, expect, it } from "vitest";
import { composed, type DrawingData, type Part } from "../../../../torch_debugger/report/model_graph_scene.js";
import { colourOf, luminance, place, rampColour, scaleOf } from "./colouring";
import type { Module } from "./model_answers";
import { fixedNumbers, healthNumbers } from "./module_numbers";
import { changedText, findPart, openKeys, searchPaths } from "./openings";
import { brought, fitted, inSight, readable, zoomed } from "./panning";
import { treeRows } from "./tree_rows";
import { worstFindings } from "./looks";

function part(key: string, path: string, opens = false): Part {
  return { key, kind: "module", path, name: path, beside: "", below: "", full: "", opens, stacked: opens };
}

const inside = { width: 100, height: 40, anchor: 50, rows: [[0, 40]], places: [[0, 0, 100, 40, 50, 0]], words: [], entries: {}, exits: {}, wires: [] };
const data: DrawingData = {
  pad: 12,
  head: 26,
  tip: 8,
  opened: ["m/a"],
  groups: {
    "": { title: 10, parts: [part("m/a", "a", true)], closed: inside, opened: ["m/a"], open: { ...inside, places: [[0, 0, 124, 78, 62, 0]], width: 124, height: 78 } },
    "m/a": { title: 10, parts: [part("m/a/b,c", "a.b,c", true)], closed: inside },
    "m/a/b,c": { title: 10, parts: [part("m/a/b,c/d", "a.b,c.d")], closed: inside },
  },
};

function module(path: string, more: Partial<Module> = {}): Module {
  return { path, class: "Linear", parameters: 1, own: [], calls: 1, given: [], made: [], flops: 2, missing: "", findings: [], place: null, ...more };
}

describe("what is open", () => {
  it("is kept in the address as what differs from the beginning", () => {
    expect(changedText(data, new Set(["m/a"]))).toBe("");
    const all = new Set(["m/a", "m/a/b,c"]);
    expect(openKeys(data, changedText(data, all))).toEqual(all);
    expect(openKeys(data, changedText(data, new Set()))).toEqual(new Set());
    expect(openKeys(data, "nowhere")).toEqual(new Set(["m/a"]));
  });
  it("leads to any module", () => {
    expect(findPart(data, "a.b,c.d")?.around).toEqual(["m/a", "m/a/b,c"]);
    expect(findPart(data, "a.x")).toBeNull();
  });
  it("takes the place of the closed box", () => {
    expect(composed(data, new Set()).boxes.map((box) => box.part.key)).toEqual(["m/a"]);
    const scene = composed(data, new Set(["m/a", "m/a/b,c"]));
    expect(scene.frames.map((box) => box.part.key)).toEqual(["m/a", "m/a/b,c"]);
    expect(scene.boxes.map((box) => box.part.key)).toEqual(["m/a/b,c/d"]);
  });
});

describe("the search", () => {
  const paths = ["net", "net.encoder.3", "net.encoder.3.fc", "net.decoder.3"];
  it("puts what ends with the words first", () => {
    expect(searchPaths(paths, "ENCODER.3")).toEqual(["net.encoder.3", "net.encoder.3.fc"]);
    expect(searchPaths(paths, "3 dec")).toEqual(["net.decoder.3"]);
    expect(searchPaths(paths, "  ")).toEqual([]);
  });
});

describe("colours", () => {
  it("have a scale of their own for what has a sign or spans orders", () => {
    expect(scaleOf([-1, 3])).toEqual({ low: -3, high: 3, kind: "signed" });
    expect(scaleOf([1e-6, 1, 10])?.kind).toBe("log");
    expect(scaleOf([0.1, 0.2, null, "nan"])).toEqual({ low: 0.1, high: 0.2, kind: "linear" });
    expect(scaleOf([null, "nan"])).toBeNull();
    expect(place({ low: 1, high: 100, kind: "log" }, 10)).toBeCloseTo(0.5);
    expect(place({ low: 1, high: 100, kind: "log" }, 0)).toBe(0);
  });
  it("keep one for NaN and Inf, and none for what was not measured", () => {
    const scale = scaleOf([1, 2]);
    expect(colourOf(scale, "nan")?.odd).toBe(true);
    expect(colourOf(scale, "-inf")?.fill).toBe("var(--notfinite)");
    expect(colourOf(scale, null)).toBeNull();
    expect(colourOf(null, "inf")?.odd).toBe(true);
  });
  it("leave the text on them readable", () => {
    for (const kind of ["linear", "signed"] as const)
      for (let share = 0; share <= 1; share += 0.05) {
        const { fill, ink } = rampColour(kind, share);
        const ground = luminance(fill.match(/\d+/g)!.map(Number));
        const text = ink === "#ffffff" ? 1 : 0;
        expect((Math.max(ground, text) + 0.05) / (Math.min(ground, text) + 0.05)).toBeGreaterThanOrEqual(4.5);
      }
  });
  it("come from the step that is nearest, and from the last one at first", () => {
    const health = { key: "x", title: "X", says: "", steps: [1, 5], modules: ["net.a"], values: [[1, "nan" as const]] };
    expect(healthNumbers(health, "2").of("net.a")).toBe(1);
    expect(healthNumbers(health, undefined).of("net.a")).toBe("nan");
    expect(healthNumbers(health, undefined).of("net.b")).toBeUndefined();
    expect(fixedNumbers("flops", [module("net", { flops: null })]).of("net")).toBeNull();
  });
});

describe("the sight", () => {
  it("keeps the point under the pointer", () => {
    const sight = zoomed({ x: 10, y: 20, scale: 1 }, 2, 100, 50);
    expect((100 - sight.x) / sight.scale).toBeCloseTo(90);
    expect((50 - sight.y) / sight.scale).toBeCloseTo(30);
    expect(zoomed(sight, 1e9, 0, 0).scale).toBe(4);
  });
  it("fits the whole, and brings a box to the middle", () => {
    const sight = fitted({ width: 2000, height: 1000 }, { width: 400, height: 400 });
    expect(sight.x + 2000 * sight.scale).toBeLessThanOrEqual(400);
    const near = brought(sight, { x: 500, y: 500, width: 10, height: 10 }, { width: 400, height: 400 });
    expect(near.x + 505 * near.scale).toBeCloseTo(200);
  });
  it("moves no further than a focused box needs", () => {
    const window = { width: 400, height: 400 };
    const start = { x: 0, y: 0, scale: 1 };
    expect(inSight(start, { x: 50, y: 50, width: 100, height: 30 }, window)).toEqual(start);
    expect(inSight(start, { x: 50, y: 600, width: 100, height: 30 }, window)).toEqual({ x: 0, y: -246, scale: 1 });
    expect(inSight(start, { x: -200, y: 50, width: 100, height: 30 }, window).x).toBe(216);
    expect(inSight(start, { x: 50, y: 100, width: 100, height: 900 }, window).y).toBe(-84); // its beginning
  });
  it("cuts no title at the left of a narrow screen", () => {
    expect(readable({ width: 2000, height: 3000 }, { width: 340, height: 500 }).x).toBeGreaterThan(0);
  });
});

describe("the table", () => {
  const modules = ["net", "net.a", "net.a.0", "net.a.0.fc", "net.b"].map((path) => module(path));
  it("shows what is inside of what is open", () => {
    const rows = treeRows(modules, new Set(["net"]), null);
    expect(rows.map((row) => [row.module.path, row.level, row.open])).toEqual([
      ["net", 1, true],
      ["net.a", 2, false],
      ["net.b", 2, null],
    ]);
  });
  it("shows what was found, with all around it", () => {
    expect(treeRows(modules, new Set(), new Set(["net.a.0.fc"])).map((row) => row.module.path)).toEqual(["net", "net.a", "net.a.0", "net.a.0.fc"]);
  });
});

describe("findings", () => {
  it("mark also what holds the module, with the worst of them", () => {
    const found = worstFindings([
      module("net.a.0", { findings: [{ name: "x", severity: "note", message: "" }] }),
      module("net.a.1", { findings: [{ name: "y", severity: "error", message: "" }] }),
    ]);
    expect(found.get("net.a")).toBe("error");
    expect(found.get("net.a.0")).toBe("note");
    expect(found.get("net.b")).toBeUndefined();
  });
});
