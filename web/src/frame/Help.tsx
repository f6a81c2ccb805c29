import { Dialog } from "../pieces/Dialog";
import type { View } from "../views";
import "./frame.css";

interface Props {
  views: readonly View[];
  version: string | undefined;
  onClose: () => void;
}

export function Help({ views, version, onClose }: Props) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="frame-keys">
        <Keys keys={["j", "k"]}>Next and previous finding or entry; in a view without any, the next and previous run.</Keys>
        <Keys keys={["]", "["]}>Next and previous run.</Keys>
        <Keys keys={["/"]}>Go to the search of the view, or else to the search for a run.</Keys>
        <Keys keys={["r"]}>Choose a run.</Keys>
        <Keys keys={["t"]}>Theme: as the system, light, dark.</Keys>
        <Keys keys={["?"]}>This list.</Keys>
        <Keys keys={["Esc"]}>Close what is open.</Keys>
        {views.slice(0, 9).map((view, place) => (
          <Keys key={view.name} keys={[String(place + 1)]}>
            {view.title}
          </Keys>
        ))}
      </dl>
      <p>In a chart that has the focus:</p>
      <dl class="frame-keys">
        <Keys keys={["+", "-"]}>Zoom in and out.</Keys>
        <Keys keys={["←", "→"]}>Move along x.</Keys>
        <Keys keys={["↑", "↓"]}>Move along y, in the large view of a curve.</Keys>
        <Keys keys={["0"]}>Show all.</Keys>
      </dl>
      <p class="quiet">
        With the mouse: drag to zoom, shift and drag to move, ctrl or shift and the wheel to zoom around a place, double click to show all. With fingers: pinch to zoom, drag to
        move.
      </p>
      <p class="quiet">Keys do nothing while you type in a field. The address keeps what you have chosen: send it to show somebody the same sight.</p>
      {version ? <p class="quiet">torch-debugger {version}</p> : null}
    </Dialog>
  );
}

function Keys({ keys, children }: { keys: string[]; children: preact.ComponentChildren }) {
  return (
    <>
      <dt>
        {keys.map((key) => (
          <kbd key={key}>{key}</kbd>
        ))}
      </dt>
      <dd>{children}</dd>
    </>
  );
}
