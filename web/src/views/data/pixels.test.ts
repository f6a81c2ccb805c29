import { expect, test } from "vitest";
import { heat } from "./colours";
import { bytesOf, paint, tilesOf } from "./pixels";

test("one and three channels are one picture, others one each", () => {
  expect(tilesOf([2, 3, 4, 4])).toEqual([
    { sample: 0, channel: null },
    { sample: 1, channel: null },
  ]);
  expect(tilesOf([1, 1, 4, 4])).toHaveLength(1);
  expect(tilesOf([2, 4, 4, 4]).map((tile) => tile.channel)).toEqual([0, 1, 2, 3, 0, 1, 2, 3]);
});

test("channels become colours, the highest value is white", () => {
  const bytes = Uint8Array.from([254, 0, 0, 254, 0, 0]); // two pixels of three channels
  const made = paint(bytes, [1, 3, 1, 2], { sample: 0, channel: null }, [1, 2, 3]);
  expect([...made]).toEqual([255, 0, 0, 255, 0, 255, 0, 255]);
});

test("a pixel that is not finite in any channel has the colour for it", () => {
  const bytes = Uint8Array.from([0, 255, 0]);
  expect([...paint(bytes, [1, 3, 1, 1], { sample: 0, channel: null }, [9, 8, 7])]).toEqual([9, 8, 7, 255]);
});

test("the second sample is read behind the first", () => {
  const bytes = bytesOf(btoa(String.fromCharCode(0, 254)));
  expect([...paint(bytes, [2, 1, 1, 1], { sample: 1, channel: null }, [9, 9, 9])]).toEqual([255, 255, 255, 255]);
});

test("colours go from dark to light and stay inside", () => {
  expect(heat(-1)).toEqual(heat(0));
  expect(heat(2)).toEqual(heat(1));
  expect(heat(1)[0]).toBeGreaterThan(heat(0)[0]);
});
