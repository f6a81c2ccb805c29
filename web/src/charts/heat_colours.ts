// The colours of heat maps, made in OKLCH: even steps of lightness first, so that they read the same with every kind
// of colour vision and in grey.

export type Colour = readonly [number, number, number];

const SHADES = 256;

/** Dark blue to yellow, ever lighter. */
export function sequential(place: number): Colour {
  const t = clamp(place, 0, 1);
  return fromOklch(0.24 + 0.68 * t, 0.095 + 0.05 * Math.sin(Math.PI * t), 278 - 178 * t);
}

/** Orange below zero, blue above, and next to the ground in the middle; place is -1 to 1. */
export function diverging(place: number, dark: boolean): Colour {
  const t = clamp(place, -1, 1);
  const far = Math.abs(t);
  const lightness = dark ? 0.3 + 0.48 * far : 0.94 - 0.46 * far;
  return fromOklch(lightness, 0.13 * Math.sqrt(far), t < 0 ? 55 : 255);
}

/** All shades of a map as CSS colours, from its low end to its high one. */
export function shades(isDiverging: boolean, dark: boolean): string[] {
  return Array.from({ length: SHADES }, (_, place) => {
    const t = place / (SHADES - 1);
    return css(isDiverging ? diverging(2 * t - 1, dark) : sequential(t));
  });
}

export function css([red, green, blue]: Colour): string {
  return `rgb(${red},${green},${blue})`;
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}

/** OKLCH to sRGB by the published matrices; what no screen can show loses chroma, never lightness. */
function fromOklch(lightness: number, chroma: number, hue: number): Colour {
  const angle = (hue * Math.PI) / 180;
  for (let left = chroma; ; left -= 0.01) {
    const linear = toLinear(lightness, Math.max(0, left) * Math.cos(angle), Math.max(0, left) * Math.sin(angle));
    if (left <= 0 || linear.every((each) => each >= -1e-4 && each <= 1.0001)) return linear.map(toByte) as unknown as Colour;
  }
}

function toLinear(lightness: number, a: number, b: number): number[] {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

function toByte(linear: number): number {
  const value = clamp(linear, 0, 1);
  return Math.round(255 * (value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055));
}
