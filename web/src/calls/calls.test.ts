import { expect, test } from "vitest";
import { cellsOf } from "../icicle/cells";
import { callsOf, functionsOf, spotOf, treeOf, type CallProfile } from "./call_tree";
import { matching, pressed, readSort, sorted } from "./sorting";

const PROFILE: CallProfile = {
  file: "a.prof",
  total_s: 10,
  calls: 29,
  functions: [
    ["main", "train.py", 1, 1, 1, 1, 10],
    ["load", "data.py", 5, 2, 2, 1, 4],
    ["step", "train.py", 9, 4, 4, 2, 5],
    ["sqrt", "", 0, 10, 10, 4, 4],
    ["walk", "train.py", 20, 2, 12, 2, 2],
  ],
  edges: [
    [0, 1, 2, 1, 4],
    [0, 2, 4, 2, 5],
    [1, 3, 4, 2, 2],
    [2, 3, 6, 2, 2],
    [2, 4, 1, 1, 1],
    [1, 4, 1, 1, 1],
    [4, 4, 10, 1, 1],
  ],
  left_out: 0,
};

const shown = (root: ReturnType<typeof treeOf>) => cellsOf(root).map(({ node, depth }) => `${depth} ${node.name} ${node.seconds}`);

test("a function stands below each of its callers, the dearest first", () => {
  expect(shown(treeOf(PROFILE, null))).toEqual(["0 all 10", "1 main 10", "2 step 5", "3 sqrt 2", "3 walk 1", "2 load 4", "3 sqrt 2", "3 walk 1"]);
});

test("from one function down it is a whole of its own", () => {
  expect(shown(treeOf(PROFILE, 1))).toEqual(["0 load 4", "1 sqrt 2", "1 walk 1"]);
});

test("parts are divided by the share of the caller that was called from here", () => {
  const halves: CallProfile = { ...PROFILE, edges: [[0, 1, 1, 1, 1], [0, 2, 1, 1, 5], [2, 1, 1, 1, 3], [1, 3, 4, 4, 4]] };
  expect(shown(treeOf(halves, null))).toContain("4 sqrt 3");
  expect(shown(treeOf(halves, null))).toContain("3 sqrt 1");
});

test("functions that call each other end, and one without a beginning has its dearest as the root", () => {
  const circle: CallProfile = { ...PROFILE, functions: PROFILE.functions.slice(0, 2), edges: [[0, 1, 1, 1, 4], [1, 0, 1, 1, 3]] };
  expect(shown(treeOf(circle, null))).toEqual(["0 all 10", "1 main 10", "2 load 4"]);
});

test("a beginning that was called again from within is a root all the same", () => {
  const imports: CallProfile = { ...PROFILE, functions: [...PROFILE.functions, ["disable", "", 0, 1, 1, 0.1, 0.1]], edges: [...PROFILE.edges, [2, 0, 1, 1, 1]] };
  const root = treeOf(imports, null);
  expect(root.children.map((each) => each.name)).toEqual(["main", "disable"]);
});

test("the words of a function", () => {
  const rows = functionsOf(PROFILE);
  expect(spotOf({ ...rows[0]!, file: "/v/lib/site-packages/torch/optim/adam.py" })).toBe("torch/optim/adam.py:1");
  expect([spotOf(rows[0]!), spotOf(rows[3]!)]).toEqual(["train.py:1", "built in"]);
  expect([callsOf(rows[0]!), callsOf(rows[4]!)]).toEqual(["1 call", "12 calls, 2 not recursive"]);
});

test("every column sorts, numbers from the largest, and a second press turns it", () => {
  const rows = functionsOf(PROFILE);
  const names = (text: string) => sorted(rows, readSort(text)).map((row) => row.name);
  expect(names("")).toEqual(["sqrt", "step", "walk", "main", "load"]);
  expect(names("calls down")[0]).toBe("walk");
  expect(names("name up")).toEqual(["load", "main", "sqrt", "step", "walk"]);
  expect(names("spot up")).toEqual(["sqrt", "load", "main", "step", "walk"]);
  expect(pressed(readSort(""), "own_s")).toBe("own_s up");
  expect(pressed(readSort(""), "name")).toBe("name up");
  expect(readSort("nonsense")).toEqual({ by: "own_s", down: true });
  expect(matching(rows, "TRAIN st").map((row) => row.name)).toEqual(["step"]);
});
