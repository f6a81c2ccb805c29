import type { About } from "../answers";
import { isReport } from "../asking";
import { writeLink } from "../links";
import { StatusBadge } from "../pieces/Badge";
import { Button } from "../pieces/Button";
import { Name } from "../pieces/Name";
import { count, duration } from "../pieces/numbers";
import { RunChooser } from "./RunChooser";
import type { Theme } from "./theme";
import "./frame.css";

interface Props {
  run: string;
  several: boolean;
  about: About | null;
  choosing: boolean;
  onChoosing: (open: boolean) => void;
  onChoose: (run: string) => void;
  theme: Theme;
  onTheme: () => void;
  onHelp: () => void;
}

const THEME_SIGNS: Record<Theme, string> = { system: "◐", light: "○", dark: "●" };

export function Head({ run, several, about, choosing, onChoosing, onChoose, theme, onTheme, onHelp }: Props) {
  return (
    <div class="frame-head">
      <a class="frame-product" href={writeLink({ view: "verdict", parameters: { run } })}>
        torch-debugger
      </a>
      {several ? <RunChooser run={run} shown={about?.given_name || run} open={choosing} onOpen={onChoosing} onChoose={onChoose} /> : <OneRun run={run} />}
      {about ? <RunState about={about} /> : null}
      <div class="frame-tools">
        <Button onClick={onTheme} label={`Theme: ${theme === "system" ? "as the system" : theme}. Change it.`}>
          <span aria-hidden="true">{THEME_SIGNS[theme]}</span>
        </Button>
        <Button onClick={onHelp} label="Keys and help">
          <span aria-hidden="true">?</span>
        </Button>
      </div>
    </div>
  );
}

function OneRun({ run }: { run: string }) {
  return (
    <span class="frame-run">
      <span class="unseen">Run: </span>
      <Name text={run} />
    </span>
  );
}

/** Running, 1,204 steps, 12 min 3 s */
function RunState({ about }: { about: About }) {
  const started = about.started === null ? undefined : `Started ${new Date(about.started * 1000).toLocaleString()}`;
  return (
    <span class="frame-state" title={started}>
      <StatusBadge status={about.status} still={isReport()} watched={about.watched} />
      {about.status === "starting" ? null : <span>{about.watched ? count(about.steps, "step") : `last step ${about.steps.toLocaleString("en-US")}`}</span>}
      {about.duration_s === null ? null : <span>{duration(about.duration_s)}</span>}
    </span>
  );
}
