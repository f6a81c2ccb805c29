import { useAnswer } from "../../answer_hooks";
import type { About } from "../../answers";
import { SeverityBadge } from "../../pieces/Badge";
import { Details } from "../../pieces/Details";
import { NotShown } from "../../pieces/NotShown";
import { count } from "../../pieces/numbers";
import { Panel } from "../../pieces/Panel";
import { Inline } from "../../pieces/Prose";
import { Problem, Waiting } from "../../states";
import type { Shown, View } from "../../views";
import type { Chapter, Checked, RunFacts, ToldFinding, VerdictAnswer } from "./answers";
import { CheckedPanel } from "./CheckedPanel";
import { CrashPanel } from "./CrashPanel";
import { FactsPanel } from "./FactsPanel";
import { FindingBody } from "./FindingBody";
import { LossPicture } from "./LossPicture";
import { Others, Symptoms } from "./Others";
import { headline, noLoss, runSentence, signalSentence } from "./words";
import "./verdict.css";

function Verdict({ run, about, version, chosen }: Shown) {
  const { answer, error } = useAnswer<VerdictAnswer>("verdict", { run }, version);
  const checked = useAnswer<Checked>(about.watched ? "checked" : null, { run }, version).answer;
  if (!answer) return error ? <Problem text={error} /> : <Waiting what="the findings" />;
  const first = answer.has_verdict ? answer.chapters[0] : undefined;
  const facts = useAnswer<RunFacts>(about.watched ? "facts" : null, { run }, about.status).answer;
  const rest = { about, opened: chosen.finding };
  const others = answer.chapters.length - (first ? 1 : 0);
  return (
    <div class="verdict">
      <div class="verdict-first">
        {first ? <Main chapter={first} judgedTo={answer.judged_to} {...rest} /> : <NoFinding answer={answer} about={about} />}
        {answer.crash ? <CrashPanel crash={answer.crash} /> : null}
        {others ? (
          <Panel title={first ? count(others, "other finding") : count(others, "note")}>
            <Others answer={answer} from={first ? 1 : 0} {...rest} />
          </Panel>
        ) : null}
        {checked && !first ? <CheckedPanel checked={checked} /> : null}
      </div>
      <aside class="verdict-beside" aria-label="The run">
        <Loss answer={answer} about={about} finding={first?.cause} />
        {checked && first ? (
          <Details summary="What was checked, and what could not be">
            <CheckedPanel checked={checked} />
          </Details>
        ) : null}
        {facts ? <FactsPanel facts={facts} /> : null}
        <NotShown about={about} />
      </aside>
    </div>
  );
}

const LONG = 160; // letters: more than three lines in the largest letters

interface MainProps {
  chapter: Chapter;
  judgedTo: number | null;
  about: About;
  opened: string | undefined;
}

function Main({ chapter, judgedTo, about, opened }: MainProps) {
  const finding = chapter.cause;
  const until = judgedTo ?? (about.status === "running" ? about.steps : null);
  return (
    <article class={`verdict-main verdict-${finding.severity}${finding.message.length > LONG ? " verdict-long" : ""}`}>
      <p class="verdict-kicker">
        <SeverityBadge severity={finding.severity} /> <span>{finding.name}</span> <span class="quiet">{finding.check}</span>
        {until === null ? null : <span class="quiet">so far, at step {until.toLocaleString("en-US")}</span>}
      </p>
      <h1>
        <Inline text={finding.message} />
      </h1>
      <FindingBody finding={finding} about={about} />
      <Symptoms chapter={chapter} about={about} opened={opened} />
    </article>
  );
}

function NoFinding({ answer, about }: { answer: VerdictAnswer; about: About }) {
  const look = about.watched && !["crashed", "killed"].includes(about.status) && answer.judged_to === null ? "verdict-good" : "verdict-plain";
  return (
    <article class={`verdict-main ${look}`}>
      <h1>{headline(about, answer.judged_to)}</h1>
      <p>
        <Inline text={runSentence(about, answer)} />
      </p>
      {answer.without_a_step?.next ? (
        <p>
          <Inline text={answer.without_a_step.next} />
        </p>
      ) : null}
      {signalSentence(about) ? <p>{signalSentence(about)}</p> : null}
      {about.watched || about.status === "starting" ? null : (
        <p>
          This log was written by another tool, so there are its curves and no findings. For a verdict, start the script with <code>torch-debugger run train.py</code>; not one line of it has to change.
        </p>
      )}
    </article>
  );
}

function Loss({ answer, about, finding }: { answer: VerdictAnswer; about: About; finding: ToldFinding | undefined }) {
  const title = answer.loss && answer.loss.tag !== "loss" ? `Loss (${answer.loss.tag})` : "Loss";
  return (
    <Panel title={title} about={about.watched && answer.has_verdict ? runSentence(about, answer).replaceAll("`", "") : undefined}>
      {answer.loss && answer.loss.values.length ? (
        <LossPicture run={about.run} loss={answer.loss} finding={finding} />
      ) : (
        <p class="quiet">{noLoss(about)}</p>
      )}
    </Panel>
  );
}

export const view: View = { name: "verdict", title: "Verdict", place: 10, appears: () => true, Body: Verdict };
