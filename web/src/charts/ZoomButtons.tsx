import type { RefObject } from "preact";
import type uPlot from "uplot";
import { moveX, showAll, type Wishes } from "./gestures";

interface Props {
  plot: RefObject<uPlot | null>;
  wishes: Wishes;
  zoomed: boolean;
}

/** For those who have no wheel and no keys. Out of the order of Tab: the chart itself takes the keys + - 0. */
export function ZoomButtons({ plot, wishes, zoomed }: Props) {
  const zoom = (factor: number) => () => {
    if (plot.current) moveX(plot.current, wishes, factor);
  };
  return (
    <div class="chart-zoom">
      {zoomed ? (
        <button type="button" tabIndex={-1} onClick={() => showAll(wishes)}>
          Show all
        </button>
      ) : null}
      <button type="button" tabIndex={-1} aria-label="Zoom in" title="Zoom in" onClick={zoom(0.5)}>
        +
      </button>
      <button type="button" tabIndex={-1} aria-label="Zoom out" title="Zoom out" disabled={!zoomed} onClick={zoom(2)}>
        −
      </button>
    </div>
  );
}
