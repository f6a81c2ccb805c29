import { useEffect, useRef } from "preact/hooks";

interface Props {
  width: number;
  height: number;
  /** The essential numbers, for whoever does not see it. */
  label: string;
  class: string;
  /** Red, green, blue and opacity of every pixel. */
  draw: (canvas: HTMLCanvasElement) => Uint8ClampedArray<ArrayBuffer>;
}

/** A canvas of single pixels that its style makes large. */
export function PixelCanvas({ width, height, label, class: look, draw }: Props) {
  const place = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const canvas = place.current;
    if (canvas && width > 0 && height > 0) canvas.getContext("2d")?.putImageData(new ImageData(draw(canvas), width, height), 0, 0);
  });
  return <canvas ref={place} class={look} width={width} height={height} role="img" aria-label={label} title={label} />;
}
