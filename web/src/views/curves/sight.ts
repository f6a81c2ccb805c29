import { useEffect, useState } from "preact/hooks";
import type { RefObject } from "preact";

const AROUND = "200px 0px"; // a chart is made a little before it comes into sight

const tellers = new WeakMap<Element, (seen: boolean) => void>();
let watcher: IntersectionObserver | null = null;

/** Whether this element is in sight, or nearly. One observer serves thousands. */
export function useInSight(place: RefObject<HTMLElement | null>): boolean {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const element = place.current!;
    watcher ??= new IntersectionObserver((entries) => entries.forEach((each) => tellers.get(each.target)?.(each.isIntersecting)), { rootMargin: AROUND });
    tellers.set(element, setSeen);
    watcher.observe(element);
    return () => watcher?.unobserve(element);
  }, []);
  return seen;
}
