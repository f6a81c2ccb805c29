import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, expect, test, vi } from "vitest";
import { Choice } from "./Choice";
import { CodeBlock } from "./CodeBlock";
import { Diff } from "./Diff";
import { Inline } from "./Prose";
import { SearchField } from "./SearchField";
import { nearestPlace, Slider } from "./Slider";
import { Table } from "./Table";

const place = document.createElement("div");
document.body.append(place);
afterEach(() => render(null, place));

test("a choice is a group of radio buttons with the chosen one checked", () => {
  const chosen = vi.fn();
  const options = [{ value: "a", title: "One" }, { value: "b", title: "Two" }] as const;
  act(() => render(<Choice label="Which" options={options} value="a" onChange={chosen} />, place));

  const radios = [...place.querySelectorAll<HTMLInputElement>("input[type=radio]")];
  expect(radios.map((each) => each.checked)).toEqual([true, false]);
  act(() => radios[1]!.click());

  expect(chosen).toHaveBeenCalledWith("b");
});

test("a slider stands at the nearest stop and says its step", () => {
  act(() => render(<Slider label="Step" stops={[0, 100, 1200]} value={130} onChange={() => {}} />, place));

  expect(place.querySelector("output")!.textContent).toBe("step 100");
  expect(place.querySelector("input")!.getAttribute("aria-valuetext")).toBe("step 100");
  expect([nearestPlace([], 3), nearestPlace([1, 3], 2)]).toEqual([0, 0]);
});

test("a search field says what is wrong with a pattern", () => {
  act(() => render(<SearchField label="Tags" value="(" onInput={() => {}} problem="The bracket is not closed." />, place));

  const input = place.querySelector("input")!;
  expect(input.getAttribute("aria-invalid")).toBe("true");
  expect(document.getElementById(input.getAttribute("aria-describedby")!)!.textContent).toBe("The bracket is not closed.");
});

test("code and diffs show hostile text as text", () => {
  const text = "<img src=x onerror=alert(1)>";
  act(() => render([<CodeBlock label="Code" lines={[{ number: 3, text, marked: true }]} />, <Diff label="Edit" lines={[{ mark: "+", text }]} />], place));

  expect(place.querySelector("img")).toBeNull();
  expect([...place.querySelectorAll("code")].map((each) => each.textContent)).toEqual([text, text]);
  expect(place.querySelector(".diff-added .unseen")!.textContent).toBe("added: ");
});

test("only what stands between two backticks is code", () => {
  act(() => render(<Inline text="Call `zero_grad()` before, not ` after." />, place));

  expect([...place.querySelectorAll("code")].map((each) => each.textContent)).toEqual(["zero_grad()"]);
});

test("a table names its rows and scrolls inside a region that can have the focus", () => {
  const columns = [{ title: "Name", cell: (row: string) => row }, { title: "Length", numeric: true, cell: (row: string) => row.length }];
  act(() => render(<Table caption="Words" columns={columns} rows={["four"]} />, place));

  expect(place.querySelector("tbody th[scope=row]")!.textContent).toBe("four");
  expect(place.querySelector("[role=region]")!.getAttribute("tabindex")).toBe("0");
});
