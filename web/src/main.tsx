import { render as mount } from "preact";
import { answerFrom } from "./asking";
import { Frame } from "./frame/Frame";
import "./look/page.css";

/** TensorBoard calls this in the tab's own frame. */
export function render(): void {
  show(document.body);
}

function show(into: Element): void {
  const kept = document.getElementById("answers");
  if (kept?.textContent) answerFrom(JSON.parse(kept.textContent) as Record<string, unknown>);
  into.replaceChildren();
  mount(<Frame />, into);
}

const place = document.getElementById("page");
if (place) show(place);
