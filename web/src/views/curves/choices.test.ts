import { expect, test } from "vitest";
import { readChoices, readList, writeList } from "./choices";

test.each([[["a", "b"]], [["with,comma", "b"]], [["[odd"]], [[""]], [[]]])("the list %j comes back", (names) => {
  expect(readList(writeList(names))).toEqual(names);
});

test("what somebody wrote into the address by hand does no harm", () => {
  const choices = readChoices({ smooth: "lots", from: "9", to: "1", runs: "[1,", pins: '["a",3]' });
  expect(choices.smoothing).toBe(0.6);
  expect(choices.range).toBeNull();
  expect(choices.others).toEqual([]);
  expect([...choices.pinned]).toEqual(["a"]);
  expect(readChoices({ smooth: "7" }).smoothing).toBe(0.99);
  expect(readChoices({ from: "0", to: "10" }).range).toEqual([0, 10]);
});
