import { useEffect, useState } from "preact/hooks";
import { addressOf } from "../../asking";
import type { Embedding, Sprite } from "./answers";

/** The pictures of all points, once they are loaded; null where there are none. */
export function useSprite(run: string, embedding: Embedding): { image: HTMLImageElement; cut: Sprite } | null {
  const [loaded, setLoaded] = useState<{ image: HTMLImageElement; cut: Sprite } | null>(null);
  const cut = embedding.sprite;
  const address = cut ? addressOf("sprite", { run, tag: embedding.tag, step: embedding.step }) : "";
  useEffect(() => {
    setLoaded(null);
    if (!cut || !address) return;
    const image = new Image();
    let wanted = true;
    image.onload = () => wanted && setLoaded({ image, cut });
    image.src = address;
    return () => {
      wanted = false;
    };
  }, [address]);
  return loaded;
}
