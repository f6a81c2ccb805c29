import { describe, expect, it } from "vitest";
import { draw, makeSheet, type Body, type Sheet } from "./raster";

const plain = [200, 100, 50] as const;

function pixel({ pixels, width }: Sheet, x: number, y: number): number[] {
  return [...pixels.slice((y * width + x) * 4, (y * width + x) * 4 + 4)];
}

function drawn(body: Partial<Body> & { places: Float32Array }, pointSize = 3): Sheet {
  const sheet = makeSheet(20, 20);
  draw(sheet, { triangles: null, colors: null, plain, ...body }, pointSize);
  return sheet;
}

describe("triangles", () => {
  const square = new Float32Array([0, 0, 0, 20, 0, 0, 20, 20, 0, 0, 20, 0]);
  it("fill what they cover, each pixel once, whichever way round they go", () => {
    for (const triangles of [new Int32Array([0, 1, 2, 0, 2, 3]), new Int32Array([2, 1, 0, 3, 2, 0])]) {
      const sheet = drawn({ places: square, triangles });
      for (let y = 0; y < 20; y++) for (let x = 0; x < 20; x++) expect(pixel(sheet, x, y)).toEqual([200, 100, 50, 255]);
    }
  });
  it("hide what is behind them, in whatever order they come", () => {
    const places = new Float32Array([...square, 5, 5, 0.5, 15, 5, 0.5, 15, 15, 0.5]);
    const colors = new Uint8Array([0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 255, 0, 0, 255, 0, 0, 255, 0, 0]);
    for (const triangles of [new Int32Array([4, 5, 6, 0, 1, 2, 0, 2, 3]), new Int32Array([0, 1, 2, 0, 2, 3, 4, 5, 6])]) {
      const sheet = drawn({ places, colors, triangles });
      expect(pixel(sheet, 12, 8)).toEqual([255, 0, 0, 255]);
      expect(pixel(sheet, 2, 2)).toEqual([0, 0, 255, 255]);
    }
  });
  it("mix the colors of their corners, and are darker where they face aside", () => {
    const colors = new Uint8Array([255, 0, 0, 0, 255, 0, 0, 0, 255]);
    const [red = 0, green = 0, blue = 0] = pixel(drawn({ places: new Float32Array([0, 0, 0, 20, 0, 0, 0, 20, 0]), colors, triangles: new Int32Array([0, 1, 2]) }), 6, 6);
    for (const part of [red, green, blue]) expect(Math.abs(part - 85)).toBeLessThan(12);
    const steep = drawn({ places: new Float32Array([0, 0, 0, 20, 0, 3, 0, 20, 0]), triangles: new Int32Array([0, 1, 2]) });
    expect(pixel(steep, 3, 3)[0]).toBeLessThan(150);
  });
  it("that lie outside, have no area or are not finite draw nothing", () => {
    const places = new Float32Array([30, 30, 0, 40, 30, 0, 40, 40, 0, 1, 1, 0, 5, 5, 0, 9, 9, 0, NaN, 0, 0]);
    const sheet = drawn({ places, triangles: new Int32Array([0, 1, 2, 3, 4, 5, 3, 4, 6]) });
    expect(Math.max(...sheet.pixels)).toBe(0);
  });
});

it("points hide each other by depth and stay inside of the sheet", () => {
  const places = new Float32Array([5, 5, 0, 5, 5, 1, 0, 0, 0, NaN, 2, 0]);
  const sheet = drawn({ places, colors: new Uint8Array([0, 0, 200, 200, 0, 0, 0, 200, 0, 9, 9, 9]) });
  expect(pixel(sheet, 5, 5)).toEqual([200, 0, 0, 255]);
  expect(pixel(sheet, 0, 0)[1]).toBe(150);
  expect(pixel(sheet, 10, 10)).toEqual([0, 0, 0, 0]);
});
