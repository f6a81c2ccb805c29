import { useEffect, useRef, useState } from "preact/hooks";
import { useAnswer } from "../answer_hooks";
import type { About } from "../answers";
import { isReport } from "../asking";
import { goTo, type Link } from "../links";
import { statusWord } from "../pieces/Badge";
import { Empty, Problem, Waiting } from "../states";
import { VIEWS, type View } from "../views";
import { Banners } from "./Banners";
import { Guard } from "./Guard";
import { Head } from "./Head";
import { Help } from "./Help";
import { goToSearch, useKeys, walk } from "./keys";
import { Navigation, shownViews } from "./Navigation";
import { usePolling, type PollState } from "./polling";
import type { Names } from "./runs";
import { useTheme } from "./theme";

interface Props {
  run: string;
  names: Names;
  link: Link;
  version: string | undefined;
}

export function RunPage({ run, names, link, version }: Props) {
  const beat = usePolling(run);
  const { answer: about, error } = useAnswer<About>("about", { run }, beat.version);
  const [theme, turnTheme] = useTheme();
  const [help, setHelp] = useState(false);
  const [choosing, setChoosing] = useState(false);
  const first = isReport() && names.all > 1 ? "compare" : VIEWS[0]?.name; // several runs in one file are there to be compared
  const view = VIEWS.find((each) => each.name === (link.view || first));
  const views = shownViews(useLast(about), view);
  const open = (name: string) => goTo({ view: view?.name ?? "verdict", parameters: { run: name } });
  const step = (by: 1 | -1) => {
    const next = names.runs[names.runs.indexOf(run) + by];
    if (next !== undefined) open(next);
  };
  useTitle(run, about, view);
  useKeys((key) => {
    const place = "123456789".indexOf(key);
    const chosen = place >= 0 ? views[place] : undefined;
    if (chosen) goTo({ view: chosen.name, parameters: { run } });
    else if (key === "?") setHelp(true);
    else if (key === "t") turnTheme();
    else if (key === "r" || (key === "/" && !goToSearch())) setChoosing(true);
    else if (key === "]" || (key === "j" && !walk(1))) step(1);
    else if (key === "[" || (key === "k" && !walk(-1))) step(-1);
    else return "jk/".includes(key);
    return true;
  });
  return (
    <div class="frame">
      <a class="frame-skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>
        Go to the content
      </a>
      <header>
        <Head run={run} several={names.all > 1} about={about} choosing={choosing} onChoosing={setChoosing} onChoose={open} theme={theme} onTheme={turnTheme} onHelp={() => setHelp(true)} />
        <Navigation run={run} views={views} open={view} />
      </header>
      <Banners beat={beat} about={about} />
      <Body run={run} about={about} error={error} beat={beat} view={view} link={link} />
      {help ? <Help views={views} version={version} onClose={() => setHelp(false)} /> : null}
    </div>
  );
}

interface BodyProps {
  run: string;
  about: About | null;
  error: string | null;
  beat: PollState;
  view: View | undefined;
  link: Link;
}

function Body({ run, about, error, beat, view, link }: BodyProps) {
  const main = useFocusOnChange(view?.name ?? "");
  return (
    <main id="main" class="body" ref={main} tabIndex={-1} aria-label={view?.title}>
      {view === undefined ? <Empty title={`There is no view called ${link.view}.`}>Choose one above.</Empty> : null}
      {about === null ? <NotThere run={run} error={error} beat={beat} /> : null}
      {about && view ? (
        <Guard key={`${view.name} ${run}`} what={view.title}>
          <view.Body run={run} about={about} version={beat.version} chosen={link.parameters} />
        </Guard>
      ) : null}
    </main>
  );
}

function NotThere({ run, error, beat }: { run: string; error: string | null; beat: PollState }) {
  if (beat.gone) return <Empty title={`The run ${run} is not here.`}>It was moved, renamed or deleted, or the address has a slip in it. Choose another run above.</Empty>;
  return error ? <Problem text={error} /> : <Waiting what="the run" share={beat.read} />;
}

function useTitle(run: string, about: About | null, view: View | undefined): void {
  useEffect(() => {
    document.title = [about?.given_name || run, about ? statusWord(about.status, about.watched) : "", view?.title ?? "", "torch-debugger"].filter(Boolean).join(" · ");
  }, [run, about?.given_name, about?.status, view]);
}

/** What there was before it is asked for again: the navigation does not blink when another run is opened. */
function useLast<T>(value: T | null): T | null {
  const last = useRef(value);
  if (value !== null) last.current = value;
  return last.current;
}

/** On another view the focus goes to its heading, so that whoever listens hears where they are. */
function useFocusOnChange(name: string) {
  const main = useRef<HTMLElement>(null);
  const before = useRef(name);
  useEffect(() => {
    if (before.current === name) return;
    before.current = name;
    const heading = main.current?.querySelector("h1");
    heading?.setAttribute("tabindex", "-1");
    (heading ?? main.current)?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [name]);
  return main;
}
