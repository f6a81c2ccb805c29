import { describe, expect, it } from "vitest";
import { extentOf, first, flat, nearer, product, project, turned, UPRIGHT, type Matrix } from "./turning";

function transposed(matrix: Matrix): Matrix {
  return [0, 3, 6, 1, 4, 7, 2, 5, 8].map((at) => matrix[at]!) as unknown as Matrix;
}

describe("turning", () => {
  it("keeps lengths and angles, however often", () => {
    let matrix: Matrix = UPRIGHT;
    for (let step = 0; step < 500; step++) matrix = turned(matrix, 0.1 * step, -0.07);
    product(matrix, transposed(matrix)).forEach((value, at) => expect(value).toBeCloseTo(UPRIGHT[at]!, 9));
  });
  it("to the right brings the near side to the right, and down what is near downwards", () => {
    const near = new Float32Array([0, 0, 1]);
    const made = new Float32Array(3);
    const ball = { middle: [0, 0, 0] as [number, number, number], radius: 1 };
    project(near, ball, { ...flat(), turn: turned(UPRIGHT, 0.3, 0) }, 200, 200, made);
    expect(made[0]).toBeGreaterThan(100);
    project(near, ball, { ...flat(), turn: turned(UPRIGHT, 0, 0.3) }, 200, 200, made);
    expect(made[1]).toBeGreaterThan(100);
  });
});

describe("the sight", () => {
  it("holds all points at first, whatever their size and place", () => {
    const points = Float32Array.from({ length: 300 }, (_, at) => 1e6 + ((at * 7919) % 101) * 50);
    const made = new Float32Array(300);
    project(points, extentOf(points), first(), 400, 300, made);
    for (let at = 0; at < 300; at += 3) {
      expect(made[at]).toBeGreaterThan(0);
      expect(made[at]).toBeLessThan(400);
      expect(made[at + 1]).toBeGreaterThan(0);
      expect(made[at + 1]).toBeLessThan(300);
    }
  });
  it("keeps what is under the pointer", () => {
    const sight = nearer({ ...flat(), x: 10, y: 4 }, 2, 50, 20);
    expect((50 - sight.x) / sight.scale).toBeCloseTo(40);
    expect((20 - sight.y) / sight.scale).toBeCloseTo(16);
    expect(nearer(sight, 1e9).scale).toBe(50);
  });
  it("is of points that are finite", () => {
    expect(extentOf([NaN, 0, 0, 1, 1, 1, 3, 1, 1])).toEqual({ middle: [2, 1, 1], radius: 1 });
    expect(extentOf([])).toEqual({ middle: [0, 0, 0], radius: 1 });
  });
});
