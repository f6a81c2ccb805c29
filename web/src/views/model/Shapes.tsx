// A box of the drawing, and the head of one that is open: buttons with a name for whoever cannot see them.
import type { ComponentChildren } from "preact";
import type { Box } from "../../../../torch_debugger/report/model_graph_scene.js";
import type { Colour } from "./colouring";

export interface Look {
  /** What is said instead of the picture: encoder.3, TransformerEncoderLayer, 3.2M parameters. */
  label: string;
  colour: Colour | null;
  chosen: boolean;
  /** The worst finding in it. */
  finding: "error" | "warning" | "note" | null;
}

interface Props {
  box: Box;
  look: Look;
  onPress: () => void;
}

const ROUNDNESS: Record<string, number> = { input: 14, output: 14, operation: 10 };

export function BoxShape({ box, look, onPress }: Props) {
  const { part, x, y, width, height } = box;
  const radius = ROUNDNESS[part.kind] ?? 6;
  const ink = inkOf(look);
  const middle = { x: x + width / 2, y: y + height / 2 };
  const paint = look.colour ? { style: { fill: look.colour.fill } } : {};
  const face = (
    <>
      <title>{part.full}</title>
      {part.stacked ? <rect class="model-behind" x={x + 4} y={y + 4} width={width} height={height} rx={radius} {...paint} /> : null}
      <rect class="model-face" x={x} y={y} width={width} height={height} rx={radius} {...paint} />
    </>
  );
  return (
    <Pressed box={box} look={look} onPress={onPress} name={`model-box model-${part.kind}`} face={face}>
      <text class="model-name" x={middle.x} y={part.below ? middle.y - 3 : middle.y + 4.5} text-anchor="middle" style={ink}>
        {part.name}
        {part.beside ? <tspan class="model-quiet" dx={6} style={ink}>{part.beside}</tspan> : null}
      </text>
      {part.below ? (
        <text class="model-below" x={middle.x} y={middle.y + 12} text-anchor="middle" style={ink}>
          {part.below}
        </text>
      ) : null}
      <Mark look={look} x={x + width - 4} y={y + 4} />
    </Pressed>
  );
}

export function FrameHead({ box, head, look, onPress }: Props & { head: number }) {
  const ink = inkOf(look);
  const beside = [box.part.beside, box.part.below].filter(Boolean).join(" ");
  const face = (
    <>
      <title>{`${box.part.full}\nPress to close it.`}</title>
      <rect class="model-head-face" x={box.x} y={box.y} width={box.width} height={head} rx={8} style={look.colour ? { fill: look.colour.fill } : {}} />
    </>
  );
  return (
    <Pressed box={box} look={look} onPress={onPress} name={`model-head model-depth-${box.depth % 2}`} face={face}>
      <text class="model-name" x={box.x + 12} y={box.y + 17} style={ink}>
        {box.part.name}
        {beside ? <tspan class="model-quiet" dx={6} style={ink}>{beside}</tspan> : null}
      </text>
      <Mark look={look} x={box.x + box.width - 4} y={box.y + 4} />
    </Pressed>
  );
}

/** On a colour, whichever of black and white can be read. */
function inkOf(look: Look): { fill?: string } {
  return look.colour ? { fill: look.colour.ink } : {};
}

interface PressedProps extends Props {
  name: string;
  face: ComponentChildren;
  /** The words on it: not part of the button, whose name says more than they do. */
  children: ComponentChildren;
}

function Pressed({ box, look, onPress, name, face, children }: PressedProps) {
  const press = (event: KeyboardEvent) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    onPress();
  };
  const opens = box.part.opens;
  return (
    <g class={`${name}${look.chosen ? " model-chosen" : ""}${look.colour ? " model-coloured" : ""}`}>
      <g
        role="button"
        tabindex={0}
        data-key={box.part.key}
        aria-label={look.label}
        aria-pressed={look.chosen}
        aria-expanded={opens ? name.startsWith("model-head") : undefined}
        onClick={onPress}
        onKeyDown={press}
      >
        {face}
      </g>
      <g class="model-on-it" aria-hidden="true">
        {children}
      </g>
    </g>
  );
}

const SIGNS = { error: "■", warning: "▲", note: "●" } as const;

function Mark({ look, x, y }: { look: Look; x: number; y: number }) {
  if (!look.finding) return null;
  return (
    <g class={`model-mark model-mark-${look.finding}`} aria-hidden="true">
      <circle cx={x} cy={y} r={8} />
      <text x={x} y={y + 3.5} text-anchor="middle">
        {SIGNS[look.finding]}
      </text>
    </g>
  );
}
