import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { resolve, useTheme } from "../../charts/palette";
import { Button } from "../../pieces/Button";
import { extentOf, first, flat, project } from "../../space/turning";
import { useCanvasSize } from "../../space/useCanvasSize";
import { useTurning } from "../../space/useTurning";
import "../../space/space.css";
import type { Sprite } from "./answers";
import { drawCloud, rowAt, type Drawn } from "./cloud_drawing";

interface Props {
  title: string;
  /** Three coordinates for each row. */
  places: Float32Array;
  rows: Int32Array;
  inSpace: boolean;
  colourOf: (row: number) => string;
  isFaded: (row: number) => boolean;
  nameOf: (row: number) => string;
  pictureOf: (row: number) => number;
  sprite: { image: CanvasImageSource; cut: Sprite } | null;
  picked: number | null;
  marked: readonly number[];
  onPick: (row: number | null) => void;
}

const MANY = 3000;

export function Cloud(props: Props) {
  const { title, places, rows, inSpace, picked } = props;
  const { canvas, sight, zoom, reset, on } = useTurning(inSpace ? first : flat, inSpace);
  const size = useCanvasSize(canvas);
  const theme = useTheme();
  const [over, setOver] = useState<number | null>(null);
  const extent = useMemo(() => extentOf(places), [places]);
  const made = useMemo(() => new Float32Array(places.length), [places.length]);
  const drawn = useRef<Drawn | null>(null);
  useEffect(() => {
    const element = canvas.current;
    if (!element || !size.width || !size.height) return;
    const waits = requestAnimationFrame(() => {
      element.width = Math.round(size.width * size.ratio);
      element.height = Math.round(size.height * size.ratio);
      const paper = element.getContext("2d");
      if (!paper) return;
      paper.scale(size.ratio, size.ratio);
      project(places, extent, sight, size.width, size.height, made);
      const radius = (rows.length > MANY ? 2.2 : 3.5) * Math.min(3, Math.sqrt(sight.scale));
      const named = [...new Set([picked, over].filter((row): row is number => row !== null))];
      const words = named.map((row) => ({ row, text: props.nameOf(row) }));
      drawn.current = { ...props, places: made, words, radius, ink: resolve("--ink"), ground: resolve("--ground"), accent: resolve("--accent") };
      drawCloud(paper, size.width, size.height, drawn.current);
    });
    return () => cancelAnimationFrame(waits);
  }, [props, sight, size, over, theme, extent]);
  const at = (event: MouseEvent) => {
    const edge = canvas.current?.getBoundingClientRect();
    return edge && drawn.current ? rowAt(drawn.current, event.clientX - edge.left, event.clientY - edge.top) : null;
  };
  return (
    <div class="space">
      <div class="space-tools" role="group" aria-label="Sight of the points">
        <Button label="Closer" onClick={() => zoom(1.25)}>+</Button>
        <Button label="Farther" onClick={() => zoom(0.8)}>−</Button>
        <Button title="As at first" onClick={reset}>Reset</Button>
        <span class="space-hint quiet">Drag to {inSpace ? "turn, Shift and drag to move" : "move"}, Ctrl and the wheel to zoom, press a point for its neighbours.</span>
      </div>
      <canvas
        ref={canvas}
        class="space-canvas projector-canvas"
        tabIndex={0}
        role="img"
        aria-label={`${title}. Arrow keys ${inSpace ? "turn" : "move"} it, plus and minus zoom, 0 shows all of it. Find points by their labels in the search.`}
        {...on}
        onClick={(event) => props.onPick(at(event))}
        onMouseMove={(event) => setOver(event.buttons ? null : at(event))}
        onMouseLeave={() => setOver(null)}
      />
    </div>
  );
}
