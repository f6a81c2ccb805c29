import { choose } from "../../links";
import type { Option } from "../../pieces/Choice";
import { count } from "../../pieces/numbers";
import { SearchField } from "../../pieces/SearchField";
import { Select } from "../../pieces/Select";
import { patternOf, type Wanted } from "./finding";
import type { Listed } from "./rows";

const VERDICTS: Option<string>[] = [
  { value: "", title: "Any" },
  { value: "error", title: "Error" },
  { value: "warning", title: "Warning" },
  { value: "none", title: "Nothing wrong found" },
];

interface Props {
  wanted: Wanted;
  all: readonly Listed[];
  shown: number;
}

export function Filters({ wanted, all, shown }: Props) {
  const problem = wanted.text ? patternOf(wanted.text).problem : null;
  const statuses = [...new Set(all.flatMap((run) => run.status ?? []))].sort();
  const tags = [...new Set(all.flatMap((run) => run.label.tags ?? []))].sort();
  const found = shown === all.length ? undefined : `${count(shown, "run")} of ${all.length.toLocaleString("en-US")}`;
  return (
    <div class="runs-filters">
      <SearchField label="Filter" value={wanted.text} placeholder="name, tag, lr=0.1, verdict" onInput={(q) => choose({ q })} problem={problem} {...(found ? { found } : {})} />
      <Select label="Verdict" options={VERDICTS} value={wanted.severity} onChange={(severity) => choose({ severity })} />
      {statuses.length > 1 ? <Select label="Status" options={any(statuses)} value={wanted.status} onChange={(status) => choose({ status })} /> : null}
      {tags.length ? <Select label="Tag" options={any(tags)} value={wanted.tag} onChange={(tag) => choose({ tag })} /> : null}
    </div>
  );
}

function any(values: readonly string[]): Option<string>[] {
  return [{ value: "", title: "Any" }, ...values.map((value) => ({ value, title: value }))];
}
