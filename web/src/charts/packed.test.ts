import { expect, test } from "vitest";
import { unpack } from "./packed";

const packed = (array: Int32Array | Float32Array | Float64Array) => btoa(String.fromCharCode(...new Uint8Array(array.buffer)));

test("each kind of number comes back, also what is not finite", () => {
  expect(Array.from(unpack({ i4: packed(new Int32Array([0, -5, 2147483647])) }))).toEqual([0, -5, 2147483647]);
  expect(Array.from(unpack({ f4: packed(new Float32Array([0.5, NaN, -Infinity])) }))).toEqual([0.5, NaN, -Infinity]);
  expect(Array.from(unpack({ f8: packed(new Float64Array([0.1, Infinity])) }))).toEqual([0.1, Infinity]);
  expect(Array.from(unpack({ f4: "" }))).toEqual([]);
});
