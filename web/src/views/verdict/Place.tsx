import type { About } from "../../answers";
import { writeLink } from "../../links";
import { percent } from "../../pieces/numbers";
import { VIEWS } from "../../views";
import type { ToldFinding } from "./answers";
import { moment } from "./words";

/** crash.py:10, in model.head, since step 2, 99 % sure */
export function Place({ finding, about }: { finding: ToldFinding; about: About }) {
  const { where, confidence, status } = finding;
  const when = moment(finding, about);
  return (
    <ul class="verdict-place">
      {where.file ? (
        <li>
          <code>
            {where.file}
            {where.line ? `:${where.line}` : ""}
          </code>
        </li>
      ) : null}
      {where.module ? (
        <li>
          in <Layer run={about.run} path={where.module} linked={Boolean(about.has.layers)} />
        </li>
      ) : null}
      {when ? <li>{when}</li> : null}
      <li title="How sure the check is of this finding">{percent(confidence)} sure</li>
      {status === "preview" ? <li title="A check that is still being tried">preview</li> : null}
    </ul>
  );
}

function Layer({ run, path, linked }: { run: string; path: string; linked: boolean }) {
  if (!linked || !VIEWS.some((view) => view.name === "layers")) return <code>{path}</code>;
  return (
    <a href={writeLink({ view: "layers", parameters: { run, layer: path } })}>
      <code>{path}</code>
    </a>
  );
}
