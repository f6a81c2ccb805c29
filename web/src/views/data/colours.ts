// Colours for numbers on a canvas: from dark blue over green to yellow, told apart without red and green.
const STOPS: readonly [number, number, number][] = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
];

export type Rgb = [number, number, number];

/** The colour of a share from 0 to 1. */
export function heat(share: number): Rgb {
  const place = Math.min(Math.max(share, 0), 1) * (STOPS.length - 1);
  const from = Math.min(Math.floor(place), STOPS.length - 2);
  const part = place - from;
  const [one, other] = [STOPS[from] ?? [0, 0, 0], STOPS[from + 1] ?? [0, 0, 0]];
  return [0, 1, 2].map((which) => Math.round((one[which] ?? 0) * (1 - part) + (other[which] ?? 0) * part)) as Rgb;
}

/** What a colour variable of the page is right here, as numbers: a canvas knows no variables. */
export function inkOf(element: HTMLElement, variable: string): Rgb {
  const before = element.style.color;
  element.style.color = `var(${variable})`;
  const found = getComputedStyle(element).color.match(/[\d.]+/g) ?? [];
  element.style.color = before;
  return [0, 1, 2].map((which) => Number(found[which] ?? 0)) as Rgb;
}
