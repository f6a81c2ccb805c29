import { useEffect, useRef } from "preact/hooks";
import type { Sprite } from "./answers";

interface Props {
  sprite: { image: CanvasImageSource; cut: Sprite };
  /** Which picture of the sprite. */
  place: number;
  size: number;
}

/** One point's picture, cut from the sprite. */
export function Thumb({ sprite, place, size }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width, height, columns } = sprite.cut;
  const scale = size / Math.max(width, height);
  useEffect(() => {
    const paper = canvas.current?.getContext("2d");
    if (!paper) return;
    paper.clearRect(0, 0, width, height);
    paper.drawImage(sprite.image, (place % columns) * width, Math.floor(place / columns) * height, width, height, 0, 0, width, height);
  }, [sprite, place]);
  return <canvas ref={canvas} class="projector-thumb" width={width} height={height} style={{ width: `${width * scale}px`, height: `${height * scale}px` }} aria-hidden="true" />;
}
