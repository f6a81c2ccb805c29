import { expect, test } from "vitest";
import { findWritten } from "./written";

const ANSWERS = { "scalars?points=1000&run=a&tag=loss": "loss", "scalars?run=a&tag=lr": "lr", about: "about" };

test("the very question is answered", () => {
  expect(findWritten(ANSWERS, "scalars?points=1000&run=a&tag=loss")).toBe("loss");
  expect(findWritten(ANSWERS, "about")).toBe("about");
});

test("a narrower range or another width takes what there is", () => {
  expect(findWritten(ANSWERS, "scalars?from=10&points=300&run=a&tag=loss&to=20")).toBe("loss");
  expect(findWritten(ANSWERS, "scalars?points=300&run=a&tag=lr")).toBe("lr");
});

test("another thing is not answered by this one", () => {
  expect(findWritten(ANSWERS, "scalars?run=a&tag=accuracy")).toBeUndefined();
  expect(findWritten(ANSWERS, "scalars?run=b&tag=loss")).toBeUndefined();
  expect(findWritten(ANSWERS, "constructor")).toBeUndefined();
});
