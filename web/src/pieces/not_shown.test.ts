import { expect, test } from "vitest";
import { notShownInWords } from "./not_shown";

test("what no view shows is said with its count", () => {
  expect(notShownInWords([])).toBe("");
  const kinds = [{ kind: "tag of the plugin x", count: 7, tags: ["a", "b"] }, { kind: "value of no known kind", count: 1, tags: [] }];
  expect(notShownInWords(kinds)).toBe("Also logged, and not shown by this page: 7 tags of the plugin x (a, b, …); 1 value of no known kind. TensorBoard reads the same log.");
});
