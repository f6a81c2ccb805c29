import { useEffect, useRef } from "preact/hooks";
import type { About } from "../answers";
import { writeLink } from "../links";
import { VIEWS, type View } from "../views";
import "./frame.css";

/** The views that have something to show, and the one that is open even if it has nothing. */
export function shownViews(about: About | null, open: View | undefined): View[] {
  return VIEWS.filter((each) => each === open || (about !== null && each.appears(about)));
}

interface Props {
  run: string;
  views: readonly View[];
  open: View | undefined;
}

export function Navigation({ run, views, open }: Props) {
  const bar = useRef<HTMLElement>(null);
  useEffect(() => {
    const current = bar.current?.querySelector<HTMLElement>("[aria-current]");
    if (bar.current && current) bar.current.scrollLeft = current.offsetLeft - bar.current.clientWidth / 2 + current.offsetWidth / 2;
  }, [open, views.length]);
  return (
    <nav class="frame-views" aria-label="Views" ref={bar}>
      {views.map((each) => (
        <a key={each.name} href={writeLink({ view: each.name, parameters: { run } })} aria-current={each === open ? "page" : undefined}>
          {each.title}
        </a>
      ))}
    </nav>
  );
}
