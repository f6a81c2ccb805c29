import { render } from "preact";
import { expect, test } from "vitest";
import { Markdown } from "./Markdown";
import { parse, safeAddress } from "./markdown";

function drawn(text: string): HTMLElement {
  const place = document.createElement("div");
  render(<Markdown text={text} />, place);
  return place;
}

test.each([
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "**<iframe src=javascript:alert(1)></iframe>**",
  "`<b onclick=alert(1)>x</b>`",
  "| <script>x</script> |\n|---|\n| <img src=x onerror=y> |",
  "- <svg onload=alert(1)>\n- &lt;script&gt;",
  "```\n</code></pre><script>alert(1)</script>\n```",
  "# <style>*{display:none}</style>",
])("no HTML of a text becomes an element: %s", (text) => {
  const place = drawn(text);
  expect(place.querySelector("script, img, iframe, svg, style, b")).toBeNull();
  expect([...place.querySelectorAll("*")].flatMap((each) => each.getAttributeNames()).filter((name) => name.startsWith("on"))).toEqual([]);
});

test("what was written stays readable", () => {
  expect(drawn("<script>alert(1)</script>").textContent).toBe("<script>alert(1)</script>");
});

test.each(["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "//evil.example", "vbscript:x", "file:///etc/passwd", " https://x", "https://", "ht\ttps://x"])(
  "is no link: %s",
  (address) => {
    expect(safeAddress(address)).toBeNull();
    expect(drawn(`[click](${address})`).querySelector("a")).toBeNull();
  },
);

test("a link to the web opens apart and tells nothing", () => {
  const link = drawn("see [the *paper*](https://example.org/a?b=1)").querySelector("a");
  expect(link?.getAttribute("href")).toBe("https://example.org/a?b=1");
  expect(link?.getAttribute("rel")).toContain("noopener");
  expect(link?.querySelector("em")?.textContent).toBe("paper");
});

test("an address with a quote does not leave its attribute", () => {
  const place = drawn('[x](https://e.org/"onmouseover="alert)');
  expect(place.querySelectorAll("a")).toHaveLength(1);
  expect(place.querySelector("a")?.getAttributeNames().sort()).toEqual(["href", "rel", "target", "title"]);
});

test("paragraphs, lists, tables, headings, code and emphasis", () => {
  const kinds = parse("# Title\n\none *two* **three** `four`\n\n- a\n- b\n\n1. c\n\n| h | i |\n|---|:-:|\n| j | k |\n\n> said\n\n---\n\n```\ncode\n```\n").map((block) => block.is);
  expect(kinds).toEqual(["heading", "paragraph", "list", "list", "table", "quote", "rule", "code"]);
  const place = drawn("one *two* **three** `four`");
  expect(["em", "strong", "code"].map((name) => place.querySelector(name)?.textContent)).toEqual(["two", "three", "four"]);
});

test("marks that do not close stay as they are, and a long text of marks ends soon", () => {
  expect(drawn("2 * 3 * 4 and a_b_c [x](").textContent).toBe("2 * 3 * 4 and a_b_c [x](");
  for (const mark of ["*", "_", "`", "[", "**a", "[a](", "|-", "> "]) expect(drawn(mark.repeat(3000)).innerHTML).not.toBe("");
});

test("an unclosed fence holds the rest of the text", () => {
  expect(parse("```\na\n\nb")).toEqual([{ is: "code", text: "a\n\nb" }]);
});
