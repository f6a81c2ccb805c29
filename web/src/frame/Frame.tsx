import { useEffect, useState } from "preact/hooks";
import { useAnswer } from "../answer_hooks";
import type { About, Session } from "../answers";
import { isReport, setEditToken } from "../asking";
import { goTo, useLink } from "../links";
import { Empty, Problem, Waiting } from "../states";
import { VIEWS, type View } from "../views";
import { usePulse } from "./pulse";

interface Names {
  runs: string[];
}

export function Frame() {
  const link = useLink();
  const session = useAnswer<Session>("session");
  useEffect(() => setEditToken(session.answer?.edit_token ?? ""), [session.answer]);
  const names = useAnswer<Names>("names");
  const run = link.parameters.run ?? names.answer?.runs[0];
  if (names.error) return <Problem text={names.error} />;
  if (!names.answer) return <Waiting what="the runs" />;
  if (!run) return <Empty title="There are no runs here yet.">Start one with torch-debugger run --view train.py.</Empty>;
  return <RunPage run={run} runs={names.answer.runs} link={link.view} chosen={link.parameters} />;
}

interface PageProps {
  run: string;
  runs: string[];
  link: string;
  chosen: Record<string, string>;
}

function RunPage({ run, runs, link, chosen }: PageProps) {
  const version = usePulse(run);
  const about = useAnswer<About>("about", { run }, version);
  const [, setMenu] = useState(false);
  const view = VIEWS.find((each) => each.name === link) ?? VIEWS[0];
  return (
    <div class="frame">
      <header class="head">
        <select aria-label="Run" value={run} onChange={(event) => open(view, event.currentTarget.value)}>
          {runs.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <nav aria-label="Views" onClick={() => setMenu(false)}>
          {VIEWS.filter((each) => about.answer && each.appears(about.answer)).map((each) => (
            <a key={each.name} href={`#/${each.name}?run=${encodeURIComponent(run)}`} aria-current={each === view ? "page" : undefined}>
              {each.title}
            </a>
          ))}
        </nav>
        {isReport() ? null : <span class="live" />}
      </header>
      <main class="body">
        {about.error ? <Problem text={about.error} /> : null}
        {about.answer && view ? <view.Body run={run} about={about.answer} version={version} chosen={chosen} /> : null}
      </main>
    </div>
  );
}

function open(view: View | undefined, run: string): void {
  goTo({ view: view?.name ?? "verdict", parameters: { run } });
}
