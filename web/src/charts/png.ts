// A drawing as a picture with twice its pixels, so that it is sharp in print and on every screen.
const PIXELS = 2;

export async function svgAsPng(svg: string): Promise<Blob | null> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`; // not a blob: the report's policy refuses those
  await image.decode();
  const sheet = document.createElement("canvas");
  sheet.width = image.naturalWidth * PIXELS;
  sheet.height = image.naturalHeight * PIXELS;
  sheet.getContext("2d")!.drawImage(image, 0, 0, sheet.width, sheet.height);
  return new Promise((done) => sheet.toBlob(done, "image/png"));
}
