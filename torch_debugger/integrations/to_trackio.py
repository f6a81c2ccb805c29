"""Trackio: local first, with W&B's words; one row a step, findings as a table."""

from __future__ import annotations

import importlib
import io
from typing import Any

from torch_debugger.integrations.delivery import COLUMNS, Ending
from torch_debugger.integrations.tracker_data import Parcel, counts_and_edges
from torch_debugger.log.media import Histogram, LoggedPicture


class TrackioReceiver:
    """Its config goes out with the first row, and there is no summary: the report holds the verdict."""

    takes = frozenset({LoggedPicture, Histogram})

    def __init__(self, project: str, directory: str = "") -> None:
        self._project = project
        self._run: Any = None

    def open(self, name: str) -> None:
        self._run = _trackio().init(project=self._project, name=name, embed=False)

    def take(self, parcel: Parcel) -> None:
        settings = parcel.hparams | parcel.facts
        if settings:
            self._run.config.update(settings)
        for point in parcel.points:
            self._run.log(dict(point.values), step=point.step)
        for tag, picture in parcel.pictures:
            from PIL import Image

            image = Image.open(io.BytesIO(picture.data)).convert("RGB")  # of a film its first frame
            self._run.log({tag: _trackio().Image(image)}, step=picture.step)
        for tag, histogram in parcel.histograms:
            drawn = _trackio().Histogram(np_histogram=counts_and_edges(histogram))
            self._run.log({tag: drawn}, step=histogram.step)

    def close(self, ending: Ending) -> None:
        step = ending.summary["steps"]
        if ending.rows:
            self._run.log({"findings": _trackio().Table(columns=list(COLUMNS), data=ending.rows)}, step=step)
        self._run.log({"report": _trackio().Markdown(ending.report)}, step=step)
        self._run.finish()

    @property
    def place(self) -> str:
        return f"project {self._project} (trackio show --project {self._project})"


def _trackio() -> Any:
    return importlib.import_module("trackio")
