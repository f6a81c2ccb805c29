// Draws triangles and points into pixels, nearest first by a depth for each pixel. No WebGL: it is not everywhere (a remote
// desktop, a browser without a GPU), and a mesh of training data is small.

export interface Body {
  /** On the screen: x, y and nearness of each point. */
  places: Float32Array;
  /** Three points each; null draws the points themselves. */
  triangles: Int32Array | null;
  /** Red, green and blue of each point, 0 to 255. */
  colors: Uint8Array | null;
  /** Where no colors are told. */
  plain: readonly [number, number, number];
}

export interface Sheet {
  width: number;
  height: number;
  pixels: Uint8ClampedArray;
  depths: Float32Array;
}

export function makeSheet(width: number, height: number): Sheet {
  return { width, height, pixels: new Uint8ClampedArray(width * height * 4), depths: new Float32Array(width * height) };
}

export function draw(sheet: Sheet, body: Body, pointSize = 3): void {
  sheet.pixels.fill(0);
  sheet.depths.fill(-Infinity);
  if (body.triangles) for (let at = 0; at + 2 < body.triangles.length; at += 3) triangle(sheet, body, body.triangles, at);
  else for (let point = 0; point * 3 < body.places.length; point++) dot(sheet, body, point, pointSize);
}

const DARKEST = 0.35;

function triangle(sheet: Sheet, body: Body, triangles: Int32Array, at: number): void {
  const { places } = body;
  const [one, two, three] = [triangles[at]!, triangles[at + 1]!, triangles[at + 2]!];
  const [ax, ay, az] = [places[one * 3]!, places[one * 3 + 1]!, places[one * 3 + 2]!];
  const [bx, by, bz] = [places[two * 3]!, places[two * 3 + 1]!, places[two * 3 + 2]!];
  const [cx, cy, cz] = [places[three * 3]!, places[three * 3 + 1]!, places[three * 3 + 2]!];
  const area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay);
  if (!area || !Number.isFinite(area)) return;
  const left = Math.max(0, Math.ceil(Math.min(ax, bx, cx) - 0.5));
  const right = Math.min(sheet.width - 1, Math.floor(Math.max(ax, bx, cx) - 0.5));
  const top = Math.max(0, Math.ceil(Math.min(ay, by, cy) - 0.5));
  const bottom = Math.min(sheet.height - 1, Math.floor(Math.max(ay, by, cy) - 0.5));
  if (left > right || top > bottom) return;
  const light = lightOn(ax, ay, az, bx, by, bz, cx, cy, cz, Math.min(sheet.width, sheet.height) / 2);
  for (let y = top; y <= bottom; y++) {
    for (let x = left; x <= right; x++) {
      const [px, py] = [x + 0.5, y + 0.5];
      const u = ((bx - px) * (cy - py) - (cx - px) * (by - py)) / area;
      const v = ((cx - px) * (ay - py) - (ax - px) * (cy - py)) / area;
      const w = 1 - u - v;
      if (u < 0 || v < 0 || w < 0) continue;
      const depth = u * az + v * bz + w * cz;
      const pixel = y * sheet.width + x;
      if (depth <= sheet.depths[pixel]!) continue;
      sheet.depths[pixel] = depth;
      for (let part = 0; part < 3; part++) sheet.pixels[pixel * 4 + part] = light * mixed(body, part, one, two, three, u, v, w);
      sheet.pixels[pixel * 4 + 3] = 255;
    }
  }
}

function mixed({ colors, plain }: Body, part: number, one: number, two: number, three: number, u: number, v: number, w: number): number {
  if (!colors) return plain[part]!;
  return u * colors[one * 3 + part]! + v * colors[two * 3 + part]! + w * colors[three * 3 + part]!;
}

/** From the reader's side, on both faces: how squarely the triangle faces the screen. */
function lightOn(ax: number, ay: number, az: number, bx: number, by: number, bz: number, cx: number, cy: number, cz: number, size: number): number {
  const [ux, uy, uz] = [bx - ax, by - ay, (bz - az) * size];
  const [vx, vy, vz] = [cx - ax, cy - ay, (cz - az) * size];
  const [nx, ny, nz] = [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx];
  const facing = Math.abs(nz) / (Math.hypot(nx, ny, nz) || 1);
  return DARKEST + (1 - DARKEST) * facing;
}

function dot(sheet: Sheet, { places, colors, plain }: Body, point: number, size: number): void {
  const near = places[point * 3 + 2]!;
  const left = Math.round(places[point * 3]! - size / 2);
  const top = Math.round(places[point * 3 + 1]! - size / 2);
  if (!Number.isFinite(left + top + near)) return;
  const light = 0.75 + 0.25 * near;
  for (let y = Math.max(0, top); y < Math.min(sheet.height, top + size); y++) {
    for (let x = Math.max(0, left); x < Math.min(sheet.width, left + size); x++) {
      const pixel = y * sheet.width + x;
      if (near <= sheet.depths[pixel]!) continue;
      sheet.depths[pixel] = near;
      for (let part = 0; part < 3; part++) sheet.pixels[pixel * 4 + part] = light * (colors ? colors[point * 3 + part]! : plain[part]!);
      sheet.pixels[pixel * 4 + 3] = 255;
    }
  }
}
