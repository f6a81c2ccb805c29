import { beforeEach, expect, test } from "vitest";
import { choose, readLink, writeLink } from "./links";

beforeEach(() => history.replaceState(null, "", "#/verdict?run=a"));

test("a link survives names that would break an address", () => {
  const link = { view: "curves", parameters: { run: "a b/ü?#&=%", tag: "<script>" } };

  expect(readLink(writeLink(link))).toEqual(link);
});

test("an empty address is the first view", () => {
  expect(readLink("")).toEqual({ view: "", parameters: {} });
});

test("a choice is added, changed and taken away; the run stays", () => {
  choose({ tag: "loss" });
  expect(readLink(location.hash).parameters).toEqual({ run: "a", tag: "loss" });
  choose({ tag: undefined });
  expect(readLink(location.hash).parameters).toEqual({ run: "a" });
});

test("an address that somebody has broken is no error", () => {
  expect(readLink("#/%E0%A4%A?run=a")).toEqual({ view: "%E0%A4%A", parameters: { run: "a" } });
});
