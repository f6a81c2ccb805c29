import { expect, test } from "vitest";
import { readLink, writeLink } from "./links";
import { readNames, writeNames } from "./run_names";

test("names come back through an address as they were, whatever is in them", () => {
  const names = ["a,b", "c&d=e#f?g", "100%", "%2C", "x/y z", "<img>", "über"];
  const link = writeLink({ view: "compare", parameters: { runs: writeNames(names) } });
  expect(readNames(readLink(link).parameters.runs)).toEqual(names);
});

test("what was written by hand is read as well as it can be, each name once", () => {
  expect(readNames("a,,b,a,100%")).toEqual(["a", "b", "100%"]);
  expect(readNames(undefined)).toEqual([]);
});
