import type { Finding } from "../../answers";
import { writeLink } from "../../links";
import { SeverityBadge } from "../../pieces/Badge";
import { Panel } from "../../pieces/Panel";
import { Inline } from "../../pieces/Prose";

const NOTHING = "None of the checks of the data has found anything: ranges, labels, order, duplicates, leaks between training and validation.";
const ODD_NUMBERS = "There are NaN or Inf among the numbers of the data: see Ranges below. No check has found anything else.";

/** What the checks of the data found, in words; the whole story is on the first page. */
export function Findings({ run, findings, oddNumbers, watched }: { run: string; findings: Finding[]; oddNumbers: boolean; watched: boolean }) {
  if (!watched) return null;
  return (
    <Panel title="What the checks found in the data">
      {findings.length === 0 ? <p class="data-about">{oddNumbers ? ODD_NUMBERS : NOTHING}</p> : null}
      <ul class="data-findings">
        {findings.map((finding, place) => (
          <li key={place}>
            <SeverityBadge severity={finding.severity} /> <Inline text={finding.message} />{" "}
            <a href={writeLink({ view: "verdict", parameters: { run } })}>Evidence and fix</a>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
