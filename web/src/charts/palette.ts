// Colours for a canvas: the page's colour variables as the browser resolves them in the theme of the moment.
import { useEffect, useState } from "preact/hooks";

/** Further lines begin again, dashed otherwise. */
export const PALETTE_SIZE = 8;
const SURELY_APART = 4; // so many colours nobody takes for one another; from there on a dash helps

export function paletteName(colour: number | string): string {
  return typeof colour === "string" ? colour : `--chart-${(colour % PALETTE_SIZE) + 1}`;
}

const DASHES = [[], [8, 4], [2, 3], [9, 3, 2, 3]];

export function dashOf(colour: number | string): number[] {
  const round = typeof colour === "string" ? 0 : Math.floor(colour / SURELY_APART);
  return DASHES[round % DASHES.length]!;
}

const known = new Map<string, string>();

/** rgb(...) of a variable: a canvas knows neither var() nor light-dark(). */
export function resolve(name: string): string {
  watchTheme();
  const found = known.get(name);
  if (found !== undefined) return found;
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  known.set(name, colour);
  return colour;
}

/** What `draw` makes in the light theme's colours, whatever the page's. Nothing of it is seen: the page is not drawn meanwhile. */
export function inLightTheme<T>(draw: () => T): T {
  const { dataset } = document.documentElement;
  const before = dataset.theme;
  dataset.theme = "light";
  known.clear();
  try {
    return draw();
  } finally {
    if (before === undefined) delete dataset.theme;
    else dataset.theme = before;
    known.clear();
    watcher?.takeRecords(); // for the charts no theme has changed
  }
}

export function faded(colour: string, alpha: number): string {
  const parts = colour.match(/[\d.]+/g);
  return parts && parts.length >= 3 ? `rgba(${parts.slice(0, 3).join(",")},${alpha})` : colour;
}

const listeners = new Set<() => void>();
let watcher: MutationObserver | null = null;

/** From the first colour on, also while no chart is there: the next one must not find the old theme's colours. */
function watchTheme(): void {
  if (watcher) return;
  const changed = () => {
    known.clear();
    listeners.forEach((tell) => tell());
  };
  watcher = new MutationObserver(changed);
  watcher.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme", "class"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}

/** Changes with the theme: charts draw again. */
export function useTheme(): number {
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const changed = () => setTheme((before) => before + 1);
    watchTheme();
    listeners.add(changed);
    return () => {
      listeners.delete(changed);
    };
  }, []);
  return theme;
}
