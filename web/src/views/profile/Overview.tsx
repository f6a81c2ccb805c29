import { useAnswer } from "../../answer_hooks";
import { Icicle } from "../../icicle/Icicle";
import { SeverityBadge } from "../../pieces/Badge";
import { duration, percent } from "../../pieces/numbers";
import { Panel } from "../../pieces/Panel";
import { Prose } from "../../pieces/Prose";
import { Problem, Waiting } from "../../states";
import { ProfileTables } from "../time/ProfileTables";
import { Split } from "../time/Split";
import type { Device, OverviewAnswer, Step } from "./answers";
import { PARTS } from "./parts";
import type { Finding } from "../../answers";

const MOST_BARS = 60;

export function Overview({ trace }: { trace: string }) {
  const { answer, error } = useAnswer<OverviewAnswer>("trace", { trace });
  if (error) return <Problem text={error} />;
  if (!answer) return <Waiting what="the overview" />;
  const parts = PARTS.filter(({ name }) => name in answer.parts).map(({ name, title, colour, rest }) => ({ name: title, seconds: answer.parts[name] ?? 0, colour, rest: rest ?? false }));
  return (
    <>
      <p class="profile-summary">{answer.summary}</p>
      <Advice findings={answer.findings} />
      {answer.steps.length ? (
        <Panel title="Where the time of a step goes" about="The mean over the steps. Where several things went on at once, the first of them in this order counts.">
          <Split parts={parts} label="Time of a step" />
        </Panel>
      ) : null}
      {answer.steps.length > 1 ? <Steps steps={answer.steps} /> : null}
      {answer.device ? <Gpu device={answer.device} /> : null}
      <ProfileTables profile={{ ...answer.profile, told: "", ops: [] }} />
      {answer.modules ? (
        <Panel title="Time by module" about="A part stands below its whole and is as wide as its time, forward and backward.">
          <Icicle root={answer.modules} label="Time by module" />
        </Panel>
      ) : null}
      {answer.notes.map((note) => (
        <p key={note} class="quiet">
          {note}
        </p>
      ))}
    </>
  );
}

function Advice({ findings }: { findings: readonly Finding[] }) {
  if (!findings.length) return null;
  return (
    <Panel title="What would make it faster">
      <ul class="profile-advice">
        {findings.map((finding) => (
          <li key={finding.name}>
            <p class="profile-advice-head">
              <SeverityBadge severity={finding.severity} /> <b>{finding.name}</b>
              {finding.where.file ? (
                <code>
                  {finding.where.file}:{finding.where.line}
                </code>
              ) : null}
            </p>
            <Prose text={`${finding.message} ${finding.fix}`} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Step after step, as high as its time, of the same parts as the whole. */
function Steps({ steps }: { steps: readonly Step[] }) {
  const shown = steps.slice(0, MOST_BARS);
  const most = Math.max(...shown.map((step) => step.took_s));
  return (
    <Panel title="Step by step" about={`The highest took ${duration(most)}.${steps.length > MOST_BARS ? ` These are the first ${MOST_BARS}.` : ""}`}>
      <div class="profile-steps" role="img" aria-label={`Time of ${shown.length} steps: ${shown.slice(0, 10).map((step) => `#${step.number} ${duration(step.took_s)}`).join(", ")}`}>
        {shown.map((step) => (
          <div key={step.number} class="profile-step" title={wordsOf(step)}>
            <div class="profile-step-bar" style={{ height: `${(step.took_s / most) * 100}%` }}>
              {PARTS.map(({ name, colour }) => (
                <span key={name} style={{ flexGrow: (100 * (step.parts[name] ?? 0)) / (step.took_s || 1), background: `var(${colour})` }} />
              ))}
            </div>
            <span class="profile-step-name">#{step.number}</span>
          </div>
        ))}
      </div>
    </Panel>
  );
}

function wordsOf(step: Step): string {
  const parts = PARTS.filter(({ name }) => step.parts[name]).map(({ name, title }) => `${title} ${duration(step.parts[name])}`);
  return `ProfilerStep#${step.number}: ${duration(step.took_s)}. ${parts.join(", ")}`;
}

function Gpu({ device }: { device: Device }) {
  return (
    <Panel title="The GPU" about="SM efficiency and occupancy are the profiler's estimates: blocks for each multiprocessor, and warps that it can keep.">
      <dl class="profile-facts">
        <dt>Device</dt>
        <dd>{device.name}</dd>
        <dt>Busy</dt>
        <dd>{percent(device.busy)} of the time</dd>
        <dt>SM efficiency</dt>
        <dd>{percent(device.sm_efficiency)} of the time</dd>
        <dt>Occupancy</dt>
        <dd>{percent(device.occupancy)}, the mean of its kernels</dd>
        <dt>Tensor cores</dt>
        <dd>{percent(device.tensor_cores)} of the kernels' time, by their names</dd>
      </dl>
    </Panel>
  );
}
