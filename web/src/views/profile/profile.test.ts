import { expect, test } from "vitest";
import { treeOf } from "./Stacks";
import { hasWords, sortedRows } from "./SortTable";
import { shortKernel } from "./Tables";
import { change } from "./Difference";
import { keyed } from "./Timeline";
import { around, barAt, bounded, heightOf, momentsOf, placesOf, zoomed } from "./timeline_sight";
import type { Bar, Stretch } from "./answers";

const bar = (start: number, took: number, row: number): Bar => [start, took, row, 0, 3, -1, 1];
const STRETCH: Stretch = {
  from_s: 0,
  to_s: 10,
  whole_s: 10,
  lanes: [
    { name: "thread 1", rows: 2, bars: [bar(0, 10, 0), bar(2, 3, 1)] },
    { name: "GPU 0, stream 7", rows: 1, bars: [bar(4, 1, 0)] },
  ],
  texts: ["aten::mm"],
  kinds: [],
};

test("what is in sight stays inside of the trace", () => {
  expect(bounded({ from: -5, to: 5 }, 10)).toEqual({ from: 0, to: 10 });
  expect(bounded({ from: 8, to: 12 }, 10)).toEqual({ from: 6, to: 10 });
  expect(bounded({ from: 0, to: 100 }, 10)).toEqual({ from: 0, to: 10 });
});

test("a zoom leaves the moment under the pointer where it is", () => {
  const next = zoomed({ from: 0, to: 10 }, 0.5, 4, 10);
  expect((4 - next.from) / (next.to - next.from)).toBeCloseTo(0.4);
  expect(around(4, 1, 10)).toEqual({ from: 2, to: 7 });
  expect(keyed("0", { from: 2, to: 4 }, 10)).toBeNull();
  expect(keyed("x", { from: 2, to: 4 }, 10)).toBeUndefined();
  expect(keyed("d", { from: 2, to: 4 }, 10)!.from).toBeCloseTo(2.4);
});

test("the scale has a few round moments", () => {
  const moments = momentsOf({ from: 0.00123, to: 0.00223 });
  expect(moments.length).toBeGreaterThan(3);
  expect(moments.length).toBeLessThan(15);
  expect(moments.every((each) => each >= 0.00123 && each <= 0.00223)).toBe(true);
});

test("a bar is found by its lane, its row and the moment", () => {
  const places = placesOf(STRETCH);
  const y = (lane: number, row: number) => places[lane]!.top + 20 + row * 17 + 5;
  expect(barAt(STRETCH, places, 3, y(0, 1), 0)).toEqual(bar(2, 3, 1));
  expect(barAt(STRETCH, places, 6, y(0, 1), 0)).toBeNull();
  expect(barAt(STRETCH, places, 5.05, y(1, 0), 0.1)).toEqual(bar(4, 1, 0));
  expect(barAt(STRETCH, places, 3, places[0]!.top + 2, 0)).toBeNull();
  expect(heightOf(places)).toBeGreaterThan(y(1, 0));
});

test("rows sort by numbers and by words, and are found by all words", () => {
  const columns = [
    { title: "Name", value: (row: { name: string; size: number }) => row.name, cell: () => null },
    { title: "Size", value: (row: { name: string; size: number }) => row.size, cell: () => null },
  ];
  const rows = [{ name: "b", size: 2 }, { name: "a", size: 10 }];
  expect(sortedRows(rows, columns, "Size", true)[0]!.name).toBe("a");
  expect(sortedRows(rows, columns, "Name", false)[0]!.name).toBe("a");
  expect(hasWords("aten::addmm [8, 4]", "ADDMM [8")).toBe(true);
  expect(hasWords("aten::addmm", "mul")).toBe(false);
});

test("kernels are named without what all names of C++ have", () => {
  expect(shortKernel("void at::native::(anonymous namespace)::softmax_warp<float, 4>(float*, int)")).toBe("softmax_warp<float, 4>");
  expect(shortKernel("ampere_sgemm_128x64_tn")).toBe("ampere_sgemm_128x64_tn");
});

test("functions become a tree, and libraries are quiet", () => {
  const root = treeOf([[-1, "train.py(1): <module>", 4, 1], [0, "torch/optim/adam.py(9): step", 1, 3]]);
  expect(root.seconds).toBe(4);
  expect(root.children[0]!.children[0]!.quiet).toBe(true);
});

test("a change in words", () => {
  const of = (before_s: number, after_s: number) => change({ name: "a step", before_s, after_s, before_calls: 0, after_calls: 0 });
  expect([of(1, 1.5), of(2, 1), of(1, 1), of(0, 1)]).toEqual(["50 % longer", "50 % shorter", "as long", "there it took none"]);
});
