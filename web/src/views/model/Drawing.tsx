import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { composed, pathOf, type Box, type DrawingData, type Scene } from "../../../../torch_debugger/report/model_graph_scene.js";
import { Button } from "../../pieces/Button";
import { BoxShape, FrameHead, type Look } from "./Shapes";
import { brought, fitted, inSight, usePanning, zoomed, type Sight } from "./panning";

interface Props {
  data: DrawingData;
  open: ReadonlySet<string>;
  title: string;
  /** The key of the part to bring into sight, when it changes. */
  target: string | null;
  lookOf: (box: Box) => Look;
  onPress: (box: Box) => void;
  children?: ComponentChildren;
}

export function Drawing({ data, open, title, target, lookOf, onPress, children }: Props) {
  const scene = useMemo(() => composed(data, open), [data, open]);
  const { place, sight, setSight, measure, drag } = usePanning(scene);
  const pressed = useStill(scene, setSight, place);
  useEffect(() => {
    const box = target === null ? null : boxOf(scene, target);
    if (box && pressed.current === null) setSight((old) => brought(old, box, measure()));
    pressed.current = null;
  }, [target, scene]);
  const press = (box: Box) => {
    pressed.current = box.part.key;
    onPress(box);
  };
  const zoom = (by: number) => {
    const { width, height } = measure();
    setSight((old) => zoomed(old, by, width / 2, height / 2));
  };
  /** Tab leads to boxes beyond the edge: they come into sight. The browser's own scrolling would only shift the sheet. */
  const reveal = (event: FocusEvent) => {
    const shape = event.target;
    const box = shape instanceof SVGElement && shape.matches(":focus-visible") ? boxOf(scene, shape.dataset.key ?? "") : null;
    place.current?.scrollTo(0, 0);
    if (box) setSight((old) => inSight(old, box, measure()));
  };
  const fit = () => setSight(fitted(scene, measure()));
  return (
    <div class="model-drawing">
      <div class="model-tools" role="group" aria-label="Sight of the drawing">
        <Button label="Closer" onClick={() => zoom(1.25)}>+</Button>
        <Button label="Farther" onClick={() => zoom(0.8)}>−</Button>
        <Button title="Show the whole drawing" onClick={fit}>Fit</Button>
        {children}
        <span class="model-hint quiet">Drag to move, Ctrl and the wheel to zoom.</span>
      </div>
      <div
        class="model-sheet"
        ref={place}
        tabIndex={0}
        role="group"
        aria-label={`${title}. Arrow keys move the drawing, plus and minus zoom, 0 shows all of it.`}
        onKeyDown={(event) => moveByKey(event, setSight, zoom, fit)}
        onFocusIn={reveal}
        {...drag}
      >
        <svg width="100%" height="100%">
          <defs>
            <marker id="model-tip" markerWidth="8" markerHeight="8" refX="8" refY="3.5" orient="auto" markerUnits="userSpaceOnUse">
              <path class="model-tip" d="M0 0L8 3.5L0 7Z" />
            </marker>
          </defs>
          <g transform={`translate(${sight.x} ${sight.y}) scale(${sight.scale})`}>
            <SceneShapes scene={scene} lookOf={lookOf} head={data.head} onPress={press} />
          </g>
        </svg>
      </div>
    </div>
  );
}

interface ShapesProps {
  scene: Scene;
  head: number;
  lookOf: (box: Box) => Look;
  onPress: (box: Box) => void;
}

function SceneShapes({ scene, head, lookOf, onPress }: ShapesProps) {
  return (
    <>
      {scene.frames.map((box) => (
        <rect key={box.part.key} class={`model-frame model-depth-${box.depth % 2}`} x={box.x} y={box.y} width={box.width} height={box.height} rx={8} />
      ))}
      {scene.lines.map((line, at) => (
        <path key={at} class="model-line" d={pathOf(line)} marker-end={line.arrow ? "url(#model-tip)" : undefined}>
          <title>{line.told}</title>
        </path>
      ))}
      {scene.frames.map((box) => (
        <FrameHead key={box.part.key} box={box} head={head} look={lookOf(box)} onPress={() => onPress(box)} />
      ))}
      {scene.words.map((word, at) => (
        <text key={at} class="model-words" x={word.x} y={word.y + 3.5} text-anchor="middle">
          {word.text}
        </text>
      ))}
      {scene.boxes.map((box) => (
        <BoxShape key={box.part.key} box={box} look={lookOf(box)} onPress={() => onPress(box)} />
      ))}
    </>
  );
}

function boxOf(scene: Scene, key: string): Box | null {
  return [...scene.boxes, ...scene.frames].find((box) => box.part.key === key) ?? null;
}

/** What was pressed stays under the pointer and keeps the focus, however the drawing grows around it. */
function useStill(scene: Scene, setSight: (change: (old: Sight) => Sight) => void, place: { current: HTMLElement | null }) {
  const before = useRef(scene);
  const pressed = useRef<string | null>(null);
  useEffect(() => {
    const key = pressed.current;
    const [old, now] = key === null ? [null, null] : [boxOf(before.current, key), boxOf(scene, key)];
    if (old && now) {
      const dx = old.x + old.width / 2 - now.x - now.width / 2;
      setSight((sight) => ({ ...sight, x: sight.x + dx * sight.scale, y: sight.y + (old.y - now.y) * sight.scale }));
    }
    const shapes = key === null ? [] : [...(place.current?.querySelectorAll<SVGElement>("[data-key]") ?? [])];
    shapes.find((shape) => shape.dataset.key === key)?.focus({ preventScroll: true });
    before.current = scene;
  }, [scene]);
  return pressed;
}

const STEP = 60;
const MOVES: Record<string, [number, number]> = { ArrowLeft: [STEP, 0], ArrowRight: [-STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] };

function moveByKey(event: KeyboardEvent, setSight: (change: (old: Sight) => Sight) => void, zoom: (by: number) => void, fit: () => void): void {
  const move = MOVES[event.key];
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (move) setSight((old) => ({ ...old, x: old.x + move[0], y: old.y + move[1] }));
  else if (event.key === "+" || event.key === "=") zoom(1.25);
  else if (event.key === "-") zoom(0.8);
  else if (event.key === "0") fit();
  else return;
  event.preventDefault();
  event.stopPropagation();
}
