import { expect, test } from "vitest";
import { readChoices, readList, writeList } from "./choices";
import { keepSettings, settingsFor } from "./kept_choices";
import { writeZooms } from "./zoom_links";

test.each([[["a", "b"]], [["with,comma", "b"]], [["[odd"]], [[""]], [[]]])("the list %j comes back", (names) => {
  expect(readList(writeList(names))).toEqual(names);
});

test("what somebody wrote into the address by hand does no harm", () => {
  const choices = readChoices({ smooth: "lots", from: "9", to: "1", zooms: "[1,", runs: "[1,", pins: '["a",3]' });
  expect(choices.smoothing).toBe(0.6);
  expect(choices.zooms).toEqual({ shared: null, own: {}, y: null });
  expect(choices.others).toEqual([]);
  expect([...choices.pinned]).toEqual(["a"]);
  expect(readChoices({ smooth: "7" }).smoothing).toBe(0.99);
  expect(readChoices({ zooms: '{"a":[1],"b":3,"c":[1,2]}' }).zooms.own).toEqual({ c: [1, 2] });
});

test("every zoom comes back from the address", () => {
  const zooms = { shared: [0, 10], own: { "user/loss": [2.5, 1e9] }, y: [-1, 1e-7] } as const;
  const written = Object.entries(writeZooms(zooms)).filter((each): each is [string, string] => each[1] !== undefined);
  expect(readChoices(Object.fromEntries(written)).zooms).toEqual(zooms);
  expect(Object.values(writeZooms({ shared: null, own: {}, y: null })).every((each) => each === undefined)).toBe(true);
});

test("the clock is never logarithmic", () => {
  expect(readChoices({ logx: "1" }).logX).toBe(true);
  expect(readChoices({ logx: "1", x: "time" }).logX).toBe(false);
});

test("whether y is logarithmic is open until somebody chooses", () => {
  expect([readChoices({}), readChoices({ logy: "0" }), readChoices({ logy: "1" })].map((each) => each.logY)).toEqual([null, false, true]);
});

test("settings are kept for a run, and an address that says something wins", () => {
  keepSettings("a", { run: "a", smooth: "0.9", x: "epoch", from: "1", q: "loss" });
  expect(settingsFor("a", { run: "a" })).toEqual({ smooth: "0.9", x: "epoch" });
  expect(settingsFor("a", { run: "a", tag: "loss" })).toEqual({ smooth: "0.9", x: "epoch" });
  expect(settingsFor("a", { run: "a", smooth: "0" })).toBeNull();
  expect(settingsFor("b", { run: "b" })).toBeNull();
});
