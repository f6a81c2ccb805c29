import { useEffect } from "preact/hooks";
import { useAnswer } from "../answer_hooks";
import type { Session } from "../answers";
import { setEditToken } from "../asking";
import { CallsPage } from "../calls/CallsPage";
import { useLink, type Link } from "../links";
import { Empty, Problem, Waiting } from "../states";
import { ProfileBody } from "../views/profile/Body";
import { RunPage } from "./RunPage";
import { useTick, type Names } from "./runs";

const LOOK_MS = 15_000;
const WAIT_MS = 2000; // for the first run

export function Frame() {
  const link = useLink();
  const session = useAnswer<Session>("session");
  useEffect(() => setEditToken(session.answer?.edit_token ?? ""), [session.answer]);
  const tick = useTick(session.answer?.runs ? LOOK_MS : WAIT_MS);
  const names = useAnswer<Names>("names", {}, tick);
  const profiles = session.answer?.profiles ?? [];
  const run = link.parameters.run ?? names.answer?.runs[0];
  if (profiles.length) return <CallsPage profiles={profiles} link={link} />;
  if (run === undefined && session.answer?.traces) return <TracesPage link={link} />;
  if (run === undefined || names.answer === null) return <Nothing error={names.error} waiting={names.answer === null} />;
  return <RunPage run={run} names={names.answer} link={link} version={session.answer?.version} />;
}

/** Traces alone, of which none has been read so far. */
function TracesPage({ link }: { link: Link }) {
  return (
    <main id="main" class="body" aria-label="Profile">
      <ProfileBody chosen={link.parameters} />
    </main>
  );
}

function Nothing({ error, waiting }: { error: string | null; waiting: boolean }) {
  if (error) return <Problem text={`${error} Trying again.`} />;
  if (waiting) return <Waiting what="the runs" />;
  return (
    <main>
      <Empty title="There are no runs here yet.">
        <p>
          Start one with <code>torch-debugger run --view train.py</code>, or open a folder of runs with <code>torch-debugger view FOLDER</code>.
        </p>
        <p>This page looks again every two seconds.</p>
      </Empty>
    </main>
  );
}
