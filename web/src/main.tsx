import { render as mount } from "preact";
import { answerFrom, fileBeside } from "./asking";
import { Frame } from "./frame/Frame";
import "./look/page.css";

/** TensorBoard calls this in the tab's own frame, whose address for links is not its own. */
export function render(): void {
  document.querySelector("base")?.remove();
  document.documentElement.lang = "en";
  addStyle(() => show(document.body));
}

/** Without the styles there would be a flash of bare text. */
function addStyle(then: () => void): void {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = fileBeside("page.css");
  link.onload = link.onerror = then;
  document.head.append(link);
}

function show(into: Element): void {
  const kept = document.getElementById("answers");
  if (kept?.textContent) answerFrom(JSON.parse(kept.textContent) as Record<string, unknown>);
  into.replaceChildren();
  mount(<Frame />, into);
}

/** From now on a cookie stands for it: an address that is copied or shown to others does not hold the token. */
function dropToken(): void {
  if (new URLSearchParams(location.search).has("token")) history.replaceState(null, "", location.pathname + location.hash);
}

const place = document.getElementById("page");
if (place) {
  dropToken();
  show(place);
}
