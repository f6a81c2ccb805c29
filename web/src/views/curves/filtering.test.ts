import { expect, test } from "vitest";
import { filterOf, groupTags, prefixOf } from "./filtering";

test("a filter is a regular expression, whatever the case", () => {
  expect(["loss/train", "Loss/val", "acc"].filter(filterOf("^loss/").matches)).toEqual(["loss/train", "Loss/val"]);
  expect(filterOf("").matches("anything")).toBe(true);
});

test("what is no regular expression is told and looked for as it stands", () => {
  const filter = filterOf("loss(");
  expect(filter.fault).toBeTruthy();
  expect(filter.matches("a loss(b)")).toBe(true);
  expect(filter.matches("loss")).toBe(false);
});

test.each([
  ["loss", "General"],
  ["loss/train", "loss"],
  ["user/acc/val", "user/acc"],
  ["user/acc", "user"],
])("the group of %s is %s", (tag, group) => {
  expect(prefixOf(tag)).toBe(group);
});

test("the loss comes first, what is pinned before it, the rest as it came", () => {
  const groups = groupTags(["lr/0", "acc/a", "loss/b", "loss/a"], "loss/a", new Set(["acc/a"]));
  expect(groups).toEqual([
    { name: "Pinned", tags: ["acc/a"] },
    { name: "loss", tags: ["loss/a", "loss/b"] },
    { name: "lr", tags: ["lr/0"] },
    { name: "acc", tags: ["acc/a"] },
  ]);
});

test("a loss that the filter left out is not shown", () => {
  expect(groupTags(["acc"], "loss", new Set())).toEqual([{ name: "General", tags: ["acc"] }]);
});
