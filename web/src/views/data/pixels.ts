// Pictures of a batch as the bytes of a canvas.
import type { Rgb } from "./colours";

const NOT_FINITE = 255;
const TOP = 254;

export interface Tile {
  sample: number;
  /** Which channel; null: all three are the colours of one picture. */
  channel: number | null;
}

export function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
}

/** What stands side by side: one picture a sample where it has one or three channels, else one for each channel. */
export function tilesOf([samples = 0, channels = 0]: readonly number[]): Tile[] {
  const whole = channels === 3 || channels === 1;
  const each = whole ? [null] : Array.from({ length: channels }, (_, channel) => channel);
  return Array.from({ length: samples }, (_, sample) => each.map((channel) => ({ sample, channel }))).flat();
}

/** Red, green, blue and opacity of every pixel of a tile; what is not finite has a colour of its own. */
export function paint(bytes: Uint8Array, kept: readonly number[], tile: Tile, odd: Rgb): Uint8ClampedArray<ArrayBuffer> {
  const [, channels = 1, high = 0, wide = 0] = kept;
  const area = high * wide;
  const start = tile.sample * channels * area;
  const planes = tile.channel !== null ? [tile.channel, tile.channel, tile.channel] : channels === 3 ? [0, 1, 2] : [0, 0, 0];
  const made = new Uint8ClampedArray(area * 4);
  for (let pixel = 0; pixel < area; pixel += 1) {
    const values = planes.map((plane) => bytes[start + plane * area + pixel] ?? 0);
    const shown = values.includes(NOT_FINITE) ? odd : values.map((value) => (value * 255) / TOP);
    made.set([shown[0] ?? 0, shown[1] ?? 0, shown[2] ?? 0, 255], pixel * 4);
  }
  return made;
}
