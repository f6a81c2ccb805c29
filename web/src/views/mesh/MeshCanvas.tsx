import { useEffect, useMemo, useRef } from "preact/hooks";
import { bytesOf } from "../../charts/packed";
import { Button } from "../../pieces/Button";
import { count } from "../../pieces/numbers";
import { extentOf, first, project } from "../../space/turning";
import { useCanvasSize } from "../../space/useCanvasSize";
import { useTurning } from "../../space/useTurning";
import "../../space/space.css";
import type { Mesh } from "./answers";
import { draw, makeSheet, type Sheet } from "./raster";

const PLAIN = [120, 150, 190] as const;
const SLOW = 60_000; // triangles: at one pixel for one, they are turned smoothly

export function MeshCanvas({ mesh }: { mesh: Mesh }) {
  const { canvas, sight, zoom, reset, on } = useTurning(first, true);
  const size = useCanvasSize(canvas);
  const body = useMemo(() => read(mesh), [mesh]);
  const sheet = useRef<Sheet | null>(null);
  const ratio = mesh.faces > SLOW ? 1 : size.ratio;
  useEffect(() => {
    const element = canvas.current;
    const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
    if (!element || !width || !height) return;
    const waits = requestAnimationFrame(() => {
      if (sheet.current?.width !== width || sheet.current.height !== height) sheet.current = makeSheet(width, height);
      [element.width, element.height] = [width, height];
      const moved = { ...sight, x: sight.x * ratio, y: sight.y * ratio };
      project(body.points, body.extent, moved, width, height, body.places);
      draw(sheet.current, { ...body, plain: PLAIN }, Math.round(dotSize(mesh.points) * ratio));
      element.getContext("2d")?.putImageData(new ImageData(sheet.current.pixels as Uint8ClampedArray<ArrayBuffer>, width, height), 0, 0);
    });
    return () => cancelAnimationFrame(waits);
  }, [body, sight, size, ratio]);
  const told = `${mesh.name} at step ${mesh.step.toLocaleString("en-US")}: ${sizeText(mesh)}.`;
  return (
    <div class="space">
      <div class="space-tools" role="group" aria-label={`Sight of ${mesh.name}`}>
        <Button label="Closer" onClick={() => zoom(1.25)}>+</Button>
        <Button label="Farther" onClick={() => zoom(0.8)}>−</Button>
        <Button title="As at first" onClick={reset}>Reset</Button>
        <span class="space-hint quiet">Drag to turn, Shift and drag to move, Ctrl and the wheel to zoom.</span>
      </div>
      <canvas ref={canvas} class="space-canvas" tabIndex={0} role="img" aria-label={`${told} Arrow keys turn it, with Shift they move it, plus and minus zoom, 0 shows it as at first.`} {...on} />
    </div>
  );
}

/** In the page's pixels: of few points each can be seen. */
function dotSize(points: number): number {
  return points < 3000 ? 4 : points < 50_000 ? 3 : 2;
}

export function sizeText(mesh: Mesh): string {
  return `${count(mesh.points, "point")}${mesh.faces ? `, ${count(mesh.faces, "face")}` : ""}`;
}

function read(mesh: Mesh) {
  const points = new Float32Array(bytesOf(mesh.vertices));
  return {
    points,
    extent: extentOf(points),
    places: new Float32Array(points.length),
    triangles: mesh.triangles === null ? null : new Int32Array(bytesOf(mesh.triangles)),
    colors: mesh.colors === null ? null : new Uint8Array(bytesOf(mesh.colors)),
  };
}
