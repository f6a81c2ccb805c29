"""W&B: one row a step, findings as a table, the verdict in the summary, the report among the files."""

from __future__ import annotations

import html
import io
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch_debugger.integrations.delivery import COLUMNS, Ending
from torch_debugger.integrations.tracker_data import NAMES, LoggedRows, Parcel, counts_and_edges
from torch_debugger.log.media import PrCurve, Sound, Text

REPORT = "torch-debugger-report.md"
# A script that uses W&B itself may be told its run by these; ours must not write into that one.
_OF_THE_SCRIPT = (
    "WANDB_RUN_ID", "WANDB_RESUME", "WANDB_NAME", "WANDB_SERVICE", "WANDB_SWEEP_ID", "WANDB_SWEEP_PARAM_PATH",
)  # fmt: skip


class WandbReceiver:
    takes = frozenset(NAMES)

    def __init__(self, project: str, directory: str) -> None:
        self._project = project
        self._directory = os.environ.get("WANDB_DIR") or directory
        self._run: Any = None

    def open(self, name: str) -> None:
        import wandb

        for variable in _OF_THE_SCRIPT:
            os.environ.pop(variable, None)
        os.makedirs(self._directory, exist_ok=True)
        folder = os.path.abspath(self._directory)  # else tables wait in the home folder until they are sent
        os.environ.setdefault("WANDB_CACHE_DIR", folder)
        os.environ.setdefault("WANDB_DATA_DIR", os.path.join(folder, "wandb"))
        # The process that W&B would describe is not the script, and its command line may hold secrets.
        settings = wandb.Settings(
            silent=True, console="off", disable_code=True, disable_git=True, x_disable_meta=True, x_disable_stats=True,
            x_save_requirements=False,
        )  # fmt: skip
        self._run = wandb.init(
            project=self._project, name=name, dir=self._directory, job_type="torch-debugger", settings=settings
        )
        count_steps(self._run)

    def take(self, parcel: Parcel) -> None:
        import wandb

        if settings := parcel.facts | parcel.hparams:
            self._run.config.update(settings, allow_val_change=True)
        for point in parcel.points:
            self._log(point.step, point.time, point.values)
        for tag, picture in parcel.pictures:
            from PIL import Image

            content = io.BytesIO(picture.data)
            is_film = picture.data.startswith(b"GIF")
            form = wandb.Video(content, format="gif") if is_film else wandb.Image(Image.open(content))
            self._log(picture.step, picture.time, {tag: form})
        for tag, histogram in parcel.histograms:
            drawn = wandb.Histogram(np_histogram=counts_and_edges(histogram))
            self._log(histogram.step, histogram.time, {tag: drawn})
        for tag, medium in parcel.others:
            with other_form(tag, medium) as form:
                self._log(medium.step, medium.time, {tag: form})

    def _log(self, step: int, time: float, values: Mapping[str, Any]) -> None:
        self._run.log({"step": step, "_timestamp": time, **values})

    def close(self, ending: Ending) -> None:
        show_ending(self._run, ending)
        self._run.finish(exit_code=ending.exit_code)

    @property
    def place(self) -> str:
        if not self._run.offline:
            return str(self._run.url)
        return f"offline; this sends it: wandb sync {os.path.relpath(os.path.dirname(self._run.dir))}"


def count_steps(run: Any, heading: str = "") -> None:
    """By a metric of ours: numbers may come some steps late, and W&B's own count only goes up."""
    run.define_metric(f"{heading}step", hidden=True)
    run.define_metric(f"{heading}*", step_metric=f"{heading}step")


def show_ending(run: Any, ending: Ending, heading: str = "", *, commit: bool = True) -> None:
    import wandb

    run.log({f"{heading}findings": wandb.Table(columns=list(COLUMNS), data=ending.rows)}, commit=commit)
    run.summary.update({f"{heading}{key}": value for key, value in ending.summary.items()})
    report = Path(run.dir, REPORT)
    report.write_text(ending.report, encoding="utf-8")
    run.save(str(report), base_path=run.dir, policy="end")


# A run of W&B that the program has open itself: we add to it, and neither advance nor finish it.
_HEADING = "debugger/"  # the program's own keys stay as they are


class OpenWandbReceiver:
    """Nothing is committed, or the program's own count of steps would move: a row of ours goes out with its
    next one. So there is one of ours for each of its own at most, and the fullest is chosen."""

    takes: frozenset[type] = frozenset()

    def __init__(self, run: Any) -> None:
        self._run = run
        self._waits_at: int | None = None  # the program's step that our last row goes out with

    def open(self, name: str) -> None:
        count_steps(self._run, _HEADING)

    def take(self, parcel: Parcel) -> None:
        if parcel.facts:
            facts = {f"{_HEADING}{name}": value for name, value in parcel.facts.items()}
            self._run.config.update(facts, allow_val_change=True)
        if parcel.points and self._run.step != self._waits_at:
            fullest = max(parcel.points, key=lambda point: (len(point.values), point.step))
            row = {"step": fullest.step, **fullest.values}
            self._run.log({f"{_HEADING}{tag}": value for tag, value in row.items()}, commit=False)
            self._waits_at = self._run.step

    def close(self, ending: Ending) -> None:
        show_ending(self._run, ending, _HEADING, commit=False)

    @property
    def place(self) -> str:
        return f"added to {self._run.name or self._run.id}"


# Texts, sounds, curves and tensors as the objects by which W&B shows them.
_ENDINGS = {"audio/mpeg": ".mp3", "audio/ogg": ".ogg", "audio/flac": ".flac"}
_BAR = re.compile(r"(?<!\\)\|")


@contextmanager
def other_form(tag: str, medium: Text | Sound | PrCurve | LoggedRows) -> Iterator[Any]:
    """To be logged inside: W&B takes a sound from a file only, and copies it."""
    import wandb

    if isinstance(medium, Sound):
        with tempfile.TemporaryDirectory(prefix="torch-debugger-") as folder:
            path = os.path.join(folder, f"sound{_ENDINGS.get(medium.kind, '.wav')}")
            with open(path, "wb") as file:
                file.write(medium.data)
            yield wandb.Audio(path)
    elif isinstance(medium, PrCurve):
        columns = [medium.thresholds.tolist(), medium.precision.tolist(), medium.recall.tolist()]
        rows = [list(row) for row in zip(*columns, strict=True)]
        table = wandb.Table(columns=["threshold", "precision", "recall"], data=rows)
        yield wandb.plot.line(table, "recall", "precision", title=tag)
    elif isinstance(medium, LoggedRows):
        places = [str(place) for place in range(medium.rows.shape[1])]
        yield wandb.Table(columns=places, data=medium.rows.tolist())
    else:
        # W&B shows no Markdown among the values of a run: a table is one there, anything else is its letters.
        lines = [line.strip() for line in medium.text.strip().splitlines()]
        cells = [
            [cell.strip().replace("\\|", "|") for cell in _BAR.split(line)[1:-1]]
            for line in lines
            if line.startswith("|")
        ]
        if len(cells) == len(lines) > 1 and re.fullmatch(r"[\s:|-]+", lines[1]) and len({*map(len, cells)}) == 1:
            yield wandb.Table(columns=cells[0], data=cells[2:])
        else:
            letters = f'<pre style="white-space: pre-wrap">{html.escape(medium.text)}</pre>'
            yield wandb.Html(letters, data_is_not_path=True)
