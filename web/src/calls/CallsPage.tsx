import { useEffect, useMemo } from "preact/hooks";
import { useAnswer } from "../answer_hooks";
import { useTheme } from "../frame/theme";
import { FlameChoice } from "../icicle/FlameChoice";
import { choose, type Link } from "../links";
import { Button } from "../pieces/Button";
import { count, duration } from "../pieces/numbers";
import { Panel } from "../pieces/Panel";
import { Select } from "../pieces/Select";
import { Problem, Waiting } from "../states";
import { functionsOf, spotOf, treeOf, type CallProfile } from "./call_tree";
import { CallTable } from "./CallTable";
import { readSort } from "./sorting";
import "./calls.css";

/** What `torch-debugger view profile.prof` shows: no run, a profile that Python itself has made. */
export function CallsPage({ profiles, link }: { profiles: readonly string[]; link: Link }) {
  const name = profiles.find((each) => each === link.parameters.profile) ?? profiles[0]!;
  const { answer, error } = useAnswer<CallProfile>("calls", { profile: name });
  const [theme, turnTheme] = useTheme();
  useEffect(() => void (document.title = `${name} · torch-debugger`), [name]);
  return (
    <div class="frame">
      <header>
        <div class="frame-head">
          <span class="frame-product">torch-debugger</span>
          {profiles.length > 1 ? <Select label="Profile" value={name} options={profiles.map((each) => ({ value: each, title: each }))} onChange={(profile) => choose({ profile, from: undefined })} /> : <span class="frame-run">{name}</span>}
          <div class="frame-tools">
            <Button onClick={turnTheme} label={`Theme: ${theme === "system" ? "as the system" : theme}. Change it.`}>
              <span aria-hidden="true">◐</span>
            </Button>
          </div>
        </div>
      </header>
      <main id="main" class="body" tabIndex={-1} aria-label="Profile">
        {error ? <Problem text={error} /> : answer ? <Profile key={name} profile={answer} link={link} /> : <Waiting what="the profile" />}
      </main>
    </div>
  );
}

function Profile({ profile, link }: { profile: CallProfile; link: Link }) {
  const rows = useMemo(() => functionsOf(profile), [profile]);
  const from = rows[Number(link.parameters.from ?? "none")];
  const root = useMemo(() => treeOf(profile, from?.place ?? null), [profile, from]);
  const left = profile.left_out ? ` ${count(profile.left_out, "function")} with the least time ${profile.left_out === 1 ? "is" : "are"} left out.` : "";
  const tools = from ? <Button onClick={() => choose({ from: undefined })}>Show all functions</Button> : undefined;
  return (
    <>
      <h1 class="calls-title">{profile.file}</h1>
      <p class="calls-summary">
        {count(profile.calls, "call")} of {count(profile.functions.length + profile.left_out, "function")} took <b>{duration(profile.total_s)}</b>.{left}
      </p>
      <FlameChoice
        key={from?.place ?? "all"}
        root={root}
        label="Time by function"
        title={from ? `Below ${from.name} (${spotOf(from)})` : "Time by function"}
        tools={tools}
        about="A function stands next to the one that called it and is as wide as its time. cProfile keeps who called whom but no stacks: where a caller was called from several places, its parts are divided by its time in each, which is an estimate. Recursive calls are in the bar of the first."
      />
      <Panel title="Functions" about="Of recursive functions all calls, and those from outside behind the stroke. Press a name to see it alone above.">
        <CallTable rows={rows} total_s={profile.total_s} sort={readSort(link.parameters.sort)} onShow={(place) => choose({ from: String(place) })} />
      </Panel>
    </>
  );
}
