"""How soon something useful is seen: python -m benchmarks.viewer [ROUNDS] [STEPS]

The page and a real TensorBoard on the same log, in the same Chromium, in turns: 100 tags with STEPS points each
(10,000: a million scalars), 1400 x 900 pixels, no GPU. Times are of frames that Chromium has shown.

* first curve: from opening the address, with everything read by both servers and a cold browser cache, to the
  first frame in which the first chart in sight holds a curve (`viewer_sight` says what that is).
* from the command: from starting the server, with the address opened as soon as it is printed. TensorBoard then
  shows what it has read so far, a part of the curve; when it has read everything is told apart.
* zoom: from the release of a drag over the middle third of a chart to the frame after the last stroke on any
  canvas, which is that of the finer data. Once with charts that zoom alone, once with all that are in sight
  zoomed together. By the page's own clock: recording frames takes longer than drawing them.
* live: from the return of the log writer's flush to the first frame in which the chart looks otherwise.
  TensorBoard is not asked: it reloads every 30 seconds.
* sizes: of the script and the styles under gzip, and of a report of a small real training and of the large log.

Not measured: other browsers, networks, machines with a GPU. TensorBoard uses its Rust data server only where
its package has one for the platform; the first line says what read the log here. With the Python reader
"from the command" suffers from it; "from the address" less, as everything was read by then.
"""

from __future__ import annotations

import gzip
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from benchmarks.viewer_servers import (
    RUN,
    Server,
    data_server,
    new_writer,
    record_training,
    start_ours,
    start_tensorboard,
    wait_until_read,
    write_log,
)
from benchmarks.viewer_sight import HEIGHT, WIDTH, box_of, seen
from torch_debugger.api import write_report
from torch_debugger.records import Scalars

OUR_CHART, THEIR_CHART = ".u-over", "line-chart .series-view"
LIVE_POINTS = 8
ZOOMS = 5


def main(rounds: int, steps: int) -> None:
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        folder = Path(name)
        write_log(folder / "logs" / RUN, steps)
        print(f"{data_server()}; {100 * steps:,} scalars in 100 tags; {rounds} rounds")
        measure_first_curves(browser, folder, rounds, steps)
        measure_page(browser, folder)
        measure_sizes(folder)


def measure_first_curves(browser: Any, folder: Path, rounds: int, steps: int) -> None:
    cold: dict[str, list[float]] = {"ours": [], "theirs": []}
    warm: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(max(1, rounds // 2)):
        for who, (start, path, chart) in SIDES.items():
            server = start(folder, folder / "logs")
            cold[who].append(first_curve(browser, f"{server.address}{path}", chart)[1] - server.started)
            server.end()
    servers = {who: start(folder, folder / "logs") for who, (start, _, _) in SIDES.items()}
    print(f"TensorBoard has read everything {wait_until_read(servers['theirs'], steps):.0f} s after its command")
    for _ in range(rounds):
        for who, (_, path, chart) in SIDES.items():
            began, seen_at = first_curve(browser, f"{servers[who].address}{path}", chart)
            warm[who].append(seen_at - began)
    for server in servers.values():
        server.end()
    compare("first curve, from the address", warm["ours"], warm["theirs"])
    compare("first curve, from the command", cold["ours"], cold["theirs"])


SIDES = {
    "ours": (start_ours, f"#/curves?run={RUN}", OUR_CHART),
    "theirs": (start_tensorboard, "#timeseries", THEIR_CHART),
}


def first_curve(browser: Any, address: str, chart: str) -> tuple[float, float]:
    """When the address was opened and when a curve was seen, in seconds since the epoch."""
    with new_page(browser) as page, seen(page) as sight:
        page.goto(address, wait_until="commit")
        began = page.evaluate("performance.timeOrigin") / 1000
        return began, sight.wait_for_curve(chart)[0]


def measure_page(browser: Any, folder: Path) -> None:
    live = new_writer(folder / "logs" / "live")
    for step in range(200):
        live.add(Scalars(step, time.time(), {"loss": 1.0 + step % 7}))
    live.flush()
    server = start_ours(folder, folder / "logs")
    for words, choice in (("one chart", "&apart=1"), ("all in sight", "")):
        times = list(zoom_times(browser, f"{server.address}#/curves?run={RUN}{choice}"))
        tell(
            f"zoom, {words}",
            f"{statistics.median(times) * 1000:.0f} ms",
            "<= 100 ms",
            statistics.median(times) <= 0.1,
        )
    waits = list(live_times(browser, server, live))
    tell(
        "live, from the flush to sight",
        f"{statistics.median(waits):.2f} s, at most {max(waits):.2f} s",
        "<= 1 s",
        max(waits) <= 1,
    )
    live.close()
    server.end()


def zoom_times(browser: Any, address: str) -> Iterator[float]:
    for _ in range(ZOOMS):
        with new_page(browser) as page:
            page.add_init_script(_NOTE_RELEASE_AND_STROKES)
            page.goto(address)
            page.wait_for_selector(OUR_CHART)
            page.wait_for_load_state("networkidle")
            yield zoom(page)


_NOTE_RELEASE_AND_STROKES = """for (const kind of ["mouseup", "pointerup"]) addEventListener(kind, (event) => {
  window.releasedAt = event.timeStamp;
}, true);
const stroke = CanvasRenderingContext2D.prototype.stroke;
CanvasRenderingContext2D.prototype.stroke = function (...path) {
  requestAnimationFrame((now) => (window.shownAt = now));
  return stroke.apply(this, path);
};"""


def zoom(page: Any) -> float:
    box = box_of(page, OUR_CHART)
    assert box is not None
    left, top, right, bottom = box
    middle = (top + bottom) / 2
    page.mouse.move(left + (right - left) / 3, middle)
    page.mouse.down()
    page.mouse.move(right - (right - left) / 3, middle, steps=4)
    page.mouse.up()
    page.wait_for_timeout(1000)
    return float(page.evaluate("(shownAt - releasedAt) / 1000"))


def live_times(browser: Any, server: Server, writer: Any) -> Iterator[float]:
    with new_page(browser) as page, seen(page) as sight:
        page.goto(f"{server.address}#/curves?run=live")
        _, box = sight.wait_for_curve(OUR_CHART)
        for place in range(LIVE_POINTS):
            page.wait_for_timeout(1500 + 130 * place)  # not in step with the page's own looks
            writer.add(Scalars(200 + 20 * place, time.time(), {"loss": 10.0 + 3 * place}))
            writer.flush()
            flushed = time.time()
            yield sight.first_change(box, flushed) - flushed


def measure_sizes(folder: Path) -> None:
    static = files("torch_debugger.viewer") / "static"
    packed = sum(len(gzip.compress((static / name).read_bytes(), 9)) for name in ("page.js", "page.css"))
    tell("bundle, gzipped", f"{packed / 1000:.0f} kB", "<= 150 kB", packed <= 150_000)
    for words, run in (("a training", record_training(folder)), ("the large log", folder / "logs" / RUN)):
        size = write_report(run, folder / "report.html").size_bytes
        tell(f"report of {words}", f"{size / 1000:.0f} kB", "<= 1000 kB", size <= 1_000_000)


def compare(what: str, ours: list[float], theirs: list[float]) -> None:
    one, other = statistics.median(ours), statistics.median(theirs)
    told = [f"{statistics.median(each):.2f} s ({min(each):.2f} to {max(each):.2f})" for each in (ours, theirs)]
    tell(what, f"{told[0]}, TensorBoard {told[1]}: {one / other:.2f} of it", "<= 0.20 of it", one / other <= 0.2)


def tell(what: str, measured: str, goal: str, holds: bool) -> None:
    print(f"{what:32} {measured:80} goal {goal:14} {'holds' if holds else 'MISSED'}", flush=True)


@contextmanager
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    from tests.browser.chromium import EXECUTABLE

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=EXECUTABLE, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@contextmanager
def new_page(browser: Any) -> Iterator[Any]:
    """With nothing in its cache."""
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
    yield context.new_page()
    context.close()


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(*(given + [5, 10_000][len(given) :]))
