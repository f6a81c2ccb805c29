import { count, percent } from "../../pieces/numbers";
import { Panel } from "../../pieces/Panel";
import type { Labels } from "./answers";

const SHOWN = 64;

/** How often each class was a target: a bar, a number and a share for each. */
export function LabelBars({ labels }: { labels: Labels[] }) {
  return (
    <>
      {labels.map((each) => (
        <Panel key={each.loss} title={labels.length > 1 ? `Labels of ${each.loss}` : "Labels"} about={aboutOf(each)}>
          <ul class="data-bars">
            {each.counts.slice(0, SHOWN).map(({ label, name, count: many }) => (
              <li key={label}>
                <span class="data-bar-name" title={`class ${label}${name === null ? "" : `: ${name}`}`}>
                  {name === null ? label : `${label} ${name}`}
                </span>
                <span class="data-bar-room">
                  <span class="data-bar" style={{ width: `${(many / most(each)) * 100}%` }} />
                </span>
                <span class="data-bar-count">
                  {many.toLocaleString("en-US")} <span class="quiet">{percent(many / each.targets)}</span>
                </span>
              </li>
            ))}
          </ul>
          {each.classes > SHOWN ? <p class="data-about">And {count(each.classes - SHOWN, "more class", "more classes")}.</p> : null}
        </Panel>
      ))}
    </>
  );
}

function most({ counts }: Labels): number {
  return Math.max(...counts.map((each) => each.count), 1);
}

function aboutOf({ classes, targets, batches }: Labels): string {
  return `${count(classes, "class", "classes")} among ${count(targets, "target")} of ${count(batches, "batch", "batches")} that were looked at; not a count of the whole dataset.`;
}
