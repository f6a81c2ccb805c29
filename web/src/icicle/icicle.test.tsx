import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, expect, test } from "vitest";
import { cellsOf, neighbour, nodeAt, type Node } from "./cells";
import { Icicle } from "./Icicle";

const place = document.createElement("div");
document.body.append(place);
afterEach(() => render(null, place));

const MODEL: Node = {
  name: "net",
  seconds: 10,
  children: [
    { name: "conv", seconds: 6, children: [{ name: "aten::conv2d", seconds: 6, children: [], about: "of torch" }] },
    { name: "head", seconds: 2, children: [] },
  ],
};

test("a part stands below its whole, as wide as its share", () => {
  const cells = cellsOf(MODEL).map(({ node, depth, start, width }) => [node.name, depth, start, Number(width.toFixed(3))]);
  expect(cells).toEqual([
    ["net", 0, 0, 1],
    ["conv", 1, 0, 0.6],
    ["aten::conv2d", 2, 0, 0.6],
    ["head", 1, 0.6, 0.2],
  ]);
});

test("parts that claim more than their whole stay inside it, and what is too narrow is left out", () => {
  const odd: Node = { name: "net", seconds: 1, children: [{ name: "a", seconds: 3, children: [] }, { name: "b", seconds: 1, children: [] }] };
  expect(cellsOf(odd).map((cell) => cell.node.name)).toEqual(["net", "a"]);
  expect(cellsOf({ name: "net", seconds: 0, children: [{ name: "a", seconds: 0, children: [] }] })).toHaveLength(1);
  expect(nodeAt(MODEL, ["conv", "gone"]).name).toBe("conv");
});

test("a press on a part makes it the whole, and there is a way back", () => {
  act(() => render(<Icicle root={MODEL} label="Time by module" />, place));
  const press = (words: string) => act(() => [...place.querySelectorAll("button")].find((each) => (each.getAttribute("aria-label") ?? each.textContent).startsWith(words))!.click());
  press("conv:");
  expect(place.textContent).not.toContain("head");
  press("Back to net");
  expect(place.textContent).toContain("head");
});

const bar = (words: string) => [...place.querySelectorAll("button")].find((each) => each.getAttribute("aria-label")?.startsWith(words))!;
const key = (name: string) => act(() => void document.activeElement!.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true })));

test("one bar is in the order of the tab key, arrows lead to the others, Escape leads back", () => {
  act(() => render(<Icicle root={MODEL} label="Time by module" />, place));
  expect([...place.querySelectorAll("[tabindex='0']")].map((each) => each.textContent)).toEqual(["net"]);
  act(() => bar("net").focus());
  key("ArrowDown");
  expect(document.activeElement!.textContent).toBe("conv");
  key("ArrowRight");
  expect(document.activeElement!.textContent).toBe("head");
  key("ArrowUp");
  expect(document.activeElement!.textContent).toBe("net");
  key("ArrowDown");
  act(() => (document.activeElement as HTMLElement).click());
  expect(place.textContent).not.toContain("head");
  expect(document.activeElement!.textContent).toBe("conv");
  key("Escape");
  expect(place.textContent).toContain("head");
});

test("what a bar is can be read where it is pointed at or has the focus", () => {
  act(() => render(<Icicle root={MODEL} label="Time by module" />, place));
  expect(place.querySelector(".icicle-told")!.textContent).toContain("Point at a bar");
  act(() => bar("aten::conv2d").focus());
  expect(place.querySelector(".icicle-told")!.textContent).toBe("aten::conv2d: 6 s, 60 % of net. of torch");
});

test("siblings of the same name are told apart by their keys", () => {
  const twins: Node = { name: "all", seconds: 4, children: [{ name: "f", key: "a", seconds: 3, children: [] }, { name: "f", key: "b", seconds: 1, children: [] }] };
  expect(nodeAt(twins, ["b"]).seconds).toBe(1);
  const cells = cellsOf(twins);
  expect(neighbour(cells, cells[1]!, "ArrowRight")!.path).toEqual(["b"]);
  expect(neighbour(cells, cells[2]!, "ArrowRight")).toBeUndefined();
});
