import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { choose } from "../../links";
import { Button } from "../../pieces/Button";
import { Card } from "./Card";
import type { SharedChart } from "./chart_lines";

/** One curve as large as the page, with the controls that the grid has. */
export function LargeView({ tag, chart, children }: { tag: string; chart: SharedChart | undefined; children: ComponentChildren }) {
  useEffect(() => {
    const leave = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !event.defaultPrevented && !document.querySelector("dialog[open]")) back();
    };
    addEventListener("keydown", leave);
    return () => removeEventListener("keydown", leave);
  }, []);
  return (
    <>
      <h1 class="curves-title">{chart ? `Curves of ${chart.title}` : `Curve of ${tag}`}</h1>
      <div class="curves-back">
        <Button onClick={back}>All curves</Button>
      </div>
      {children}
      <Card key={tag} tag={tag} chart={chart} large />
      <p class="quiet">
        Drag along x or a box to zoom, turn the wheel or pinch to zoom around a place, shift and drag to move, double click to see all. With the chart in focus: + and - zoom, arrows
        move, 0 shows all, Escape goes back.
      </p>
    </>
  );
}

/** The range of y is that of this chart, and goes with it. */
function back(): void {
  choose({ tag: undefined, low: undefined, high: undefined }, false);
}

/** The focus goes to the heading of the large view, and back to the card that it was opened from. */
export function useFocusOnTag(tag: string): RefObject<HTMLDivElement | null> {
  const place = useRef<HTMLDivElement>(null);
  const before = useRef(tag);
  useEffect(() => {
    if (before.current === tag) return;
    const cards = [...(place.current?.querySelectorAll<HTMLElement>("article") ?? [])];
    const card = tag ? undefined : cards.find((each) => each.getAttribute("aria-label") === before.current);
    before.current = tag;
    const heading = place.current?.querySelector("h1");
    heading?.setAttribute("tabindex", "-1");
    card?.scrollIntoView({ block: "center" });
    (card ?? heading)?.focus({ preventScroll: true });
  }, [tag]);
  return place;
}
