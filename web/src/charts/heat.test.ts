import { expect, test } from "vitest";
import { abbreviate } from "./abbreviations";
import { axisPlaces, cellAt, edge, followed, mapWidth, moved, rowHeightOf, rowsInSight, zoomed, type Shape } from "./heat_cells";
import { diverging, sequential, shades, type Colour } from "./heat_colours";
import { barTicks, clipping, placeOf, type HeatRange } from "./heat_scale";

function luminance(colour: Colour): number {
  const [red, green, blue] = colour.map((byte) => {
    const value = byte / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

const PLACES = Array.from({ length: 65 }, (_, place) => place / 64);

test("the sequential map grows lighter at every step", () => {
  const light = PLACES.map((place) => luminance(sequential(place)));
  light.slice(1).forEach((value, place) => expect(value).toBeGreaterThan(light[place]!));
  expect(light[64]! / light[0]!).toBeGreaterThan(10);
});

test("the diverging map is the same to both sides of zero in lightness, and another colour", () => {
  for (const dark of [true, false])
    for (const place of PLACES.slice(8)) {
      const [below, above] = [diverging(-place, dark), diverging(place, dark)];
      expect(Math.abs(luminance(below) - luminance(above))).toBeLessThan(0.06);
      expect(below[0] - below[2]).toBeGreaterThan(above[0] - above[2]); // orange has more red than blue has
    }
  expect(luminance(diverging(0, false))).toBeGreaterThan(luminance(diverging(1, false)));
  expect(luminance(diverging(0, true))).toBeLessThan(luminance(diverging(1, true)));
});

test("no shade is the colour that is kept for NaN", () => {
  for (const form of [true, false]) for (const shade of shades(form, false)) expect(shade).not.toBe("rgb(214,0,108)");
});

const LOG: HeatRange = { form: "log", low: 1e-4, high: 1, below: 3, above: 0 };

test("numbers find their place between the ends", () => {
  expect(placeOf(1e-2, LOG)).toBeCloseTo(0.5);
  expect(placeOf(0, LOG)).toBe(0);
  expect(placeOf(50, LOG)).toBe(1);
  expect(placeOf(0, { ...LOG, form: "diverging", low: -2, high: 2 })).toBe(0.5);
  expect(placeOf(7, { ...LOG, form: "linear", low: 7, high: 7 })).toBe(0.5);
});

test("the bar names both ends, and what lies beyond them is told", () => {
  expect(barTicks(LOG).map((tick) => Number(tick.toPrecision(3)))).toEqual([1e-4, 1e-3, 1e-2, 0.1, 1]);
  expect(clipping(LOG, String)).toBe("Drawn in the colour of the nearer end: 3 cells below 0.0001.");
  expect(clipping({ ...LOG, below: 0 }, String)).toBe("");
  expect(clipping({ ...LOG, below: 1, above: 2000 }, String)).toContain("1 cell below 0.0001, 2,000 cells above 1");
});

const SHAPE: Shape = { rows: 5, columns: 7, rowHeight: 20, width: 100 };

test("every pixel belongs to the cell that is drawn there", () => {
  for (let column = 0; column < 7; column++) {
    const middle = (edge(column, SHAPE) + edge(column + 1, SHAPE)) / 2;
    expect(cellAt(middle, 45, SHAPE)).toEqual({ row: 2, column });
  }
  expect(edge(7, SHAPE)).toBe(100);
  for (const [x, y] of [[-1, 5], [100, 5], [5, -1], [5, 100]] as const) expect(cellAt(x, y, SHAPE)).toBeNull();
  expect(mapWidth(1000, 3)).toBeLessThan(300);
  expect(mapWidth(1000, 300)).toBe(1000);
});

test("of 3,000 rows only those in sight are drawn", () => {
  expect(rowsInSight(20_000, 600, { ...SHAPE, rows: 3000 }, 1)).toEqual([999, 1031]);
  expect(rowsInSight(0, 600, SHAPE, 1)).toEqual([0, 5]);
});

test("keys stay inside the map", () => {
  expect(moved({ row: 0, column: 6 }, "ArrowRight", SHAPE, 3)).toEqual({ row: 0, column: 6 });
  expect(moved({ row: 0, column: 6 }, "PageDown", SHAPE, 3)).toEqual({ row: 3, column: 6 });
  expect(moved({ row: 4, column: 6 }, "Home", SHAPE, 3)).toEqual({ row: 4, column: 0 });
  expect(moved({ row: 4, column: 6 }, "x", SHAPE, 3)).toBeNull();
});

test("zooming keeps to the columns there are", () => {
  expect(zoomed(9, 0, 9, 0.5, 10)).toEqual([5, 9]);
  expect(zoomed(0, 0, 9, 0.5, 10)).toEqual([0, 4]);
  expect(zoomed(3, 0, 9, 2, 10)).toBeNull();
});

test("a cell stays at its step when the columns change", () => {
  expect(followed({ row: 2, column: 3 }, [1, 5, 9, 20], [9, 18, 30])).toEqual({ row: 2, column: 1 });
  expect(followed(null, [1], [1])).toBeNull();
  expect(followed({ row: 0, column: 0 }, [1], [])).toBeNull();
});

test("on a large screen few looks and rows become large cells", () => {
  expect(mapWidth(3400, 6)).toBeGreaterThan(1500);
  expect(rowHeightOf(10, 16, 3400)).toBeGreaterThan(rowHeightOf(10, 16, 1000));
});

test("words under the columns never touch", () => {
  const places = axisPlaces({ ...SHAPE, columns: 300, width: 900 }, 60);
  expect(places[0]).toBe(0);
  places.slice(1).forEach((place, before) => expect((place - places[before]!) * 3).toBeGreaterThanOrEqual(60));
});

test("long paths keep their numbers and fit", () => {
  const name = "model.transformer_encoder.layers.11.self_attention.out_projection";
  for (const most of [20, 30, 40]) {
    const short = abbreviate(name, most);
    expect(short.length).toBeLessThanOrEqual(most);
    expect(short).toContain(".11.");
  }
  expect(abbreviate("model.0", 10)).toBe("model.0");
  expect(abbreviate("model.enc.layers.0.self_attn", 16)).toBe("enc…0.self_attn");
  expect(abbreviate("model.encoder.layers.0.norm1", 16)).toBe("…layers.0.norm1");
  expect(abbreviate("model.encoder.blocks.3.attention", 13)).toBe("…3.attention");
  expect(abbreviate("x".repeat(500), 12)).toHaveLength(12);
});
