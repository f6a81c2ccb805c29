import type { About } from "../../answers";
import { choose } from "../../links";
import { SeverityBadge } from "../../pieces/Badge";
import { count } from "../../pieces/numbers";
import { Panel } from "../../pieces/Panel";
import { Inline } from "../../pieces/Prose";
import type { Chapter, ToldFinding, VerdictAnswer } from "./answers";
import { FindingBody } from "./FindingBody";
import { keyOfFinding, moment } from "./words";

interface Props {
  title: string;
  findings: readonly ToldFinding[];
  about: About;
  /** The finding that the address opens. */
  opened: string | undefined;
  more?: number;
}

/** Findings as folded lines. */
export function Findings({ title, findings, about, opened, more = 0 }: Props) {
  if (findings.length === 0) return null;
  return (
    <Panel title={title}>
      {findings.map((each) => (
        <Folded key={keyOfFinding(each)} finding={each} about={about} open={keyOfFinding(each) === opened} />
      ))}
      {more ? <p class="quiet">{more} more; the run's result.json has them all.</p> : null}
    </Panel>
  );
}

/** What the verdict's own finding explains. */
export function Symptoms({ chapter, ...rest }: { chapter: Chapter } & Omit<Props, "title" | "findings" | "more">) {
  return <Findings {...rest} title={`It explains ${count(chapter.symptoms.length + chapter.more_symptoms, "other finding")}`} findings={chapter.symptoms} more={chapter.more_symptoms} />;
}

export function Others({ answer, from, ...rest }: { answer: VerdictAnswer; from: number } & Omit<Props, "title" | "findings" | "more">) {
  return (
    <>
      {answer.chapters.slice(from).map((chapter) => (
        <div key={keyOfFinding(chapter.cause)} class="verdict-chapter">
          <Folded finding={chapter.cause} about={rest.about} open={keyOfFinding(chapter.cause) === rest.opened} />
          {chapter.symptoms.length ? (
            <div class="verdict-symptoms">
              <Symptoms chapter={chapter} {...rest} />
            </div>
          ) : null}
        </div>
      ))}
      {answer.more_chapters ? <p class="quiet">{count(answer.more_chapters, "more finding")}; the run's result.json has them all.</p> : null}
    </>
  );
}

function Folded({ finding, about, open }: { finding: ToldFinding; about: About; open: boolean }) {
  const toggled = (now: boolean) => {
    if (now !== open) choose({ finding: now ? keyOfFinding(finding) : undefined });
  };
  const when = moment(finding, about);
  return (
    <details class="details verdict-folded" open={open} onToggle={(event) => toggled(event.currentTarget.open)}>
      <summary data-walk="">
        <SeverityBadge severity={finding.severity} /> <strong>{finding.name}</strong>
        {when ? <span class="quiet"> {when}</span> : null}
        <span class="verdict-folded-message">
          <Inline text={finding.message} />
        </span>
      </summary>
      <div class="details-body">{open ? <FindingBody finding={finding} about={about} /> : null}</div>
    </details>
  );
}
