// What of a timeline is in sight, and how it moves.
import type { Bar, Stretch } from "./answers";

export interface Sight {
  from: number;
  to: number;
}

const LEAST_S = 1e-7; // a tenth of a microsecond on the whole width

/** Inside of the whole, not narrower than can be told apart. */
export function bounded({ from, to }: Sight, whole: number): Sight {
  const span = Math.min(Math.max(to - from, LEAST_S), Math.max(whole, LEAST_S));
  const begin = Math.min(Math.max(from, 0), Math.max(0, whole - span));
  return { from: begin, to: begin + span };
}

/** By this factor, with one moment staying where it is. */
export function zoomed(sight: Sight, factor: number, around: number, whole: number): Sight {
  return bounded({ from: around - (around - sight.from) * factor, to: around + (sight.to - around) * factor }, whole);
}

export function moved(sight: Sight, share: number, whole: number): Sight {
  const by = share * (sight.to - sight.from);
  return bounded({ from: sight.from + by, to: sight.to + by }, whole);
}

/** The stretch with something of a bar on both sides of it. */
export function around(start: number, took: number, whole: number): Sight {
  const beside = Math.max(took * 2, LEAST_S * 10);
  return bounded({ from: start - beside, to: start + took + beside }, whole);
}

/** Round moments for the scale above the lanes, about eight of them. */
export function momentsOf({ from, to }: Sight): number[] {
  const rough = (to - from) / 8;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough) ?? rough;
  const first = Math.ceil(from / step);
  const found: number[] = [];
  for (let place = first; place * step <= to && found.length < 50; place++) found.push(place * step);
  return found;
}

export interface LanePlace {
  name: string;
  top: number;
  rows: number;
}

export const ROW = 17;
export const TITLE = 20;
export const SCALE = 22;

/** Lanes below each other, each with its name in a row of its own. */
export function placesOf(stretch: Stretch): LanePlace[] {
  let top = SCALE;
  return stretch.lanes.map(({ name, rows }) => {
    const place = { name, top, rows };
    top += TITLE + rows * ROW + 6;
    return place;
  });
}

export function heightOf(places: readonly LanePlace[]): number {
  const last = places[places.length - 1];
  return last ? last.top + TITLE + last.rows * ROW + 8 : SCALE;
}

/** The bar at a moment and a height; the widest of several at the same place is beneath, so the last one wins. */
export function barAt(stretch: Stretch, places: readonly LanePlace[], moment: number, y: number, slack: number): Bar | null {
  const lane = places.findIndex((place) => y >= place.top + TITLE && y < place.top + TITLE + place.rows * ROW);
  const place = places[lane];
  if (!place) return null;
  const row = Math.floor((y - place.top - TITLE) / ROW);
  const bars = stretch.lanes[lane]!.bars.filter((bar) => bar[2] === row && moment >= bar[0] - slack && moment <= bar[0] + bar[1] + slack);
  return bars.sort((one, other) => distance(one, moment) - distance(other, moment))[0] ?? null;
}

function distance(bar: Bar, moment: number): number {
  return Math.max(0, bar[0] - moment, moment - bar[0] - bar[1]);
}
