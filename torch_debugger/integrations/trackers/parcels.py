"""What a tracker is sent, whichever it is: points by step, and what is known of the run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from torch_debugger.archive.media import Histogram, Picture, Sound, Text
from torch_debugger.archive.pr_curves import PrCurve
from torch_debugger.clocks import time
from torch_debugger.integrations.trackers.layer_series import LayerSeries
from torch_debugger.integrations.trackers.media_decoder import Grid, Medium, Other
from torch_debugger.integrations.trackers.run_facts import facts_of
from torch_debugger.records import HparamsFact, Record, Scalars, TensorRows
from torch_debugger.records.surroundings import HparamValue


@dataclass(slots=True)
class Point:
    """The numbers of one step."""

    step: int
    time: float  # seconds since the epoch
    values: dict[str, float]


@dataclass(slots=True)
class Parcel:
    """What came since the last one."""

    points: list[Point] = field(default_factory=list)  # in the order in which they came
    hparams: dict[str, HparamValue] = field(default_factory=dict)
    facts: dict[str, HparamValue] = field(default_factory=dict)  # script, versions, models, git, seeds
    pictures: list[tuple[str, Picture]] = field(default_factory=list)  # by tag
    histograms: list[tuple[str, Histogram]] = field(default_factory=list)
    others: list[tuple[str, Text | Sound | PrCurve | Grid]] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)  # of all that is no number: how many, by its name

    def thin(self, most: int) -> int:
        """Leaves every n-th point and the last one, where there are more than `most`; how many are left out."""
        before, stride = len(self.points), -(-len(self.points) // most)
        if stride > 1:
            self.points = [*self.points[:-1:stride], self.points[-1]]
        return before - len(self.points)


# The kinds that a receiver may take besides numbers, in words for one of them.
NAMES: dict[type, str] = {
    Picture: "picture", Histogram: "histogram", Text: "text", Sound: "sound", PrCurve: "precision-recall curve",
    Grid: "tensor",
}  # fmt: skip


class Packer:
    """Turns records into parcels. One point holds all the numbers of a step, unless one came twice."""

    def __init__(self) -> None:
        self._parcel = Parcel()
        self._layers = LayerSeries()
        self._time = time.time()  # of the last scalars: tables carry none

    def see(self, record: Record) -> None:
        if isinstance(record, Scalars):
            self._time = record.time
            self._add(record.step, record.values)
        elif isinstance(record, TensorRows):
            self._add(record.step, self._layers.values(record))
        elif isinstance(record, HparamsFact):
            self._parcel.hparams.update(record.values)
        else:
            self._parcel.facts.update(facts_of(record))

    def see_medium(self, tag: str, medium: Medium) -> None:
        if isinstance(medium, dict):
            self._parcel.hparams.update(medium)
            return
        self._parcel.kinds[medium.kind if isinstance(medium, Other) else NAMES[type(medium)]] += 1
        if isinstance(medium, Picture):
            self._parcel.pictures.append((tag, medium))
        elif isinstance(medium, Histogram):
            self._parcel.histograms.append((tag, medium))
        elif not isinstance(medium, Other):
            self._parcel.others.append((tag.removesuffix("/text_summary"), medium))

    @property
    def has_points(self) -> bool:
        """Or what else is drawn by step."""
        return bool(self._parcel.points or self._parcel.kinds)

    def take(self) -> Parcel:
        parcel, self._parcel = self._parcel, Parcel()
        return parcel

    def _add(self, step: int, values: dict[str, float]) -> None:
        points = self._parcel.points
        last = points[-1] if points else None
        if last is not None and last.step == step and not last.values.keys() & values.keys():
            last.values.update(values)
        elif values:
            points.append(Point(step, self._time, dict(values)))
