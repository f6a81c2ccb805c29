import { useEffect, useState } from "preact/hooks";
import { useAnswer } from "../../answer_hooks";
import { choose } from "../../links";
import { Choice } from "../../pieces/Choice";
import { percent } from "../../pieces/numbers";
import { Select } from "../../pieces/Select";
import { Empty, Problem, Waiting } from "../../states";
import { Difference } from "./Difference";
import { Memory } from "./Memory";
import { Overview } from "./Overview";
import { Ranks } from "./Ranks";
import { Stacks } from "./Stacks";
import { Kernels, Operators } from "./Tables";
import { Timeline } from "./Timeline";
import type { TraceEntry } from "./answers";
import "../time/time.css";
import "./profile.css";

const LOOK_MS = 1000; // while traces are read
const PARTS = [
  { value: "overview", title: "Overview" },
  { value: "operators", title: "Operators" },
  { value: "kernels", title: "Kernels" },
  { value: "timeline", title: "Timeline" },
  { value: "memory", title: "Memory" },
  { value: "stacks", title: "Python" },
  { value: "ranks", title: "Ranks" },
  { value: "difference", title: "Difference" },
] as const;
type PartName = (typeof PARTS)[number]["value"];

interface Props {
  chosen: Record<string, string>;
  /** The run that is open: where it is a trace, it is shown first. */
  run?: string | undefined;
}

/** The traces of torch.profiler, one at a time, part by part. */
export function ProfileBody({ chosen, run }: Props) {
  const [look, setLook] = useState(0);
  const { answer, error } = useAnswer<{ traces: TraceEntry[] }>("traces", {}, String(look));
  const waiting = answer?.traces.some((each) => !each.ready && !each.error) ?? false;
  useEffect(() => {
    if (!waiting) return;
    const wait = setTimeout(() => setLook(look + 1), LOOK_MS);
    return () => clearTimeout(wait);
  }, [waiting, look]);
  if (error) return <Problem text={error} />;
  if (!answer) return <Waiting what="the traces" />;
  const { traces } = answer;
  if (!traces.length)
    return (
      <Empty title="There are no traces of torch.profiler here.">
        <code>tensorboard_trace_handler(FOLDER)</code> writes them; then <code>torch-debugger view FOLDER</code> shows them.
      </Empty>
    );
  const trace = traces.find((each) => each.name === chosen.trace) ?? traces.find((each) => `traces/${each.name}` === run) ?? traces.find((each) => each.ready) ?? traces[0]!;
  const part: PartName = PARTS.find((each) => each.value === chosen.part)?.value ?? "overview";
  return (
    <>
      <h1 class="time-title">Profile</h1>
      <div class="profile-tools">
        {traces.length > 1 ? <Select label="Trace" value={trace.name} options={traces.map((each) => ({ value: each.name, title: titleOf(each) }))} onChange={(name) => choose({ trace: name }, false)} /> : <span class="quiet">{trace.file}</span>}
        <Choice label="Part" quiet options={PARTS} value={part} onChange={(name) => choose({ part: name === "overview" ? undefined : name }, false)} />
      </div>
      {trace.error ? <Problem text={trace.error} /> : trace.ready ? <Part key={`${trace.name} ${part}`} trace={trace.name} part={part} traces={traces} other={chosen.with} version={String(look)} /> : <Waiting what="the trace" share={trace.share} />}
    </>
  );
}

function titleOf({ name, rank, ready, error, share }: TraceEntry): string {
  if (error) return `${name} (cannot be read)`;
  if (!ready) return `${name} (being read${share === null ? "" : `, ${percent(share)}`})`;
  return rank === null ? name : `${name} (rank ${rank})`;
}

interface PartProps {
  trace: string;
  part: PartName;
  traces: readonly TraceEntry[];
  other: string | undefined;
  version: string;
}

function Part({ trace, part, traces, other, version }: PartProps) {
  if (part === "operators") return <Operators trace={trace} />;
  if (part === "kernels") return <Kernels trace={trace} />;
  if (part === "timeline") return <Timeline trace={trace} />;
  if (part === "memory") return <Memory trace={trace} />;
  if (part === "stacks") return <Stacks trace={trace} />;
  if (part === "ranks") return <Ranks trace={trace} version={version} />;
  if (part === "difference") return <Difference trace={trace} traces={traces} other={other} />;
  return <Overview trace={trace} />;
}
