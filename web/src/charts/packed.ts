// Numbers as the server packs them: base64 of 32-bit whole numbers or floats, or of 64-bit floats, little-endian.

export type Packed = { i4: string } | { f4: string } | { f8: string };

export function unpack(packed: Packed): ArrayLike<number> {
  if ("i4" in packed) return new Int32Array(bytesOf(packed.i4));
  return "f4" in packed ? new Float32Array(bytesOf(packed.f4)) : new Float64Array(bytesOf(packed.f8));
}

export function bytesOf(text: string): ArrayBuffer {
  const read = atob(text);
  const bytes = new Uint8Array(read.length);
  for (let place = 0; place < read.length; place++) bytes[place] = read.charCodeAt(place);
  return bytes.buffer;
}
