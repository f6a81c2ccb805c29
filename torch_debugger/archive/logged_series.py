"""The charts of `add_scalars`: each series of one lies in a folder of its own inside the run's."""

from __future__ import annotations

from torch_debugger.archive.curve import Curve
from torch_debugger.archive.log import Log
from torch_debugger.archive.parsing import SCALARS
from torch_debugger.archive.places import Folder
from torch_debugger.archive.scalar_charts import KIND, ScalarCategory, scalar_charts
from torch_debugger.archive.series_folders import Series, series_folders


class LoggedSeries:
    """The part of a `Run` that reads them: every series is one more tag, CHART/SERIES."""

    def __init__(self) -> None:
        super().__init__()
        self._series: dict[str, tuple[Series, Log]] = {}

    @property
    def series(self) -> dict[str, dict[str, str]]:
        """By the tag that was given to `add_scalars`: the tag of each series, by its name."""
        self._whole()
        charts: dict[str, dict[str, str]] = {}
        for tag, (series, _) in self._series.items():
            charts.setdefault(series.chart, {})[series.name] = tag
        return charts

    @property
    def scalar_categories(self) -> list[ScalarCategory]:
        """What `add_custom_scalars` has asked for."""
        return scalar_charts(value for _, value in self._whole().values(KIND))

    def _poll_series(self, place: Folder) -> bool:
        """Reads on; True if anything came. Of a run in an object store only its own files are here."""
        known = {series.folder: log for series, log in self._series.values()}
        there = [] if place.is_copy else series_folders(place.path)
        self._series = {series.tag: (series, known.get(series.folder, Log([]))) for series in there}
        came = [log.poll(series.folder)[0] for series, log in self._series.values()]
        return any(came)

    def _with_series(self, tags: dict[str, list[str]]) -> dict[str, list[str]]:
        scalars = dict.fromkeys([*tags.get(SCALARS, []), *self._series])
        return tags | {SCALARS: list(scalars)} if scalars else tags

    def _series_curve(self, tag: str) -> Curve | None:
        self._whole()
        series, log = self._series.get(tag, (None, None))
        return log.curve(series.chart) if series is not None and log is not None else None

    def _whole(self) -> Log:
        raise NotImplementedError
