import { useState } from "preact/hooks";
import { addressOf } from "../../asking";
import { bytes } from "../../pieces/numbers";
import type { Item } from "./answers";

interface Props {
  run: string;
  tag: string;
  step: number;
  item: Item;
  /** How many screen pixels one of the picture has; 0: as it fits. */
  zoom: number;
}

/** One logged picture, or a sentence in its place. */
export function PictureAt({ run, tag, step, item, zoom }: Props) {
  const source = item.problem === undefined ? addressOf("picture", { run, tag, step, index: item.index ?? 0 }) : "";
  const [broken, setBroken] = useState("");
  const problem = item.problem ?? (source === "" ? "This file does not hold this picture. Open the run with torch-debugger view." : broken === source ? "This picture is damaged and cannot be shown." : null);
  if (problem !== null) return <p class="pictures-problem">{problem}</p>;
  const width = zoom ? { width: `${(item.width ?? 0) * zoom}px` } : {};
  return (
    <img
      class={zoom ? "pictures-zoomed" : enlarged(item) ? "pictures-image pictures-enlarged" : "pictures-image"}
      style={width}
      src={source}
      width={item.width}
      height={item.height}
      alt={`${tag} at step ${step.toLocaleString("en-US")}, ${item.width} by ${item.height} pixels`}
      title={`${item.width} x ${item.height} pixels, ${bytes(item.bytes ?? 0)}`}
      onError={() => setBroken(source)}
    />
  );
}

/** A few pixels are shown large, each as a square. */
function enlarged({ width = 0, height = 0 }: Item): boolean {
  return Math.max(width, height) < 160;
}
