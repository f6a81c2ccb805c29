"""What a tracker is sent, whichever it is: points by step, and what is known of the run."""

from __future__ import annotations

import math
import os
import shlex
import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.log import decoder_values as parsing
from torch_debugger.log import media
from torch_debugger.log.decoder_records import Decoder
from torch_debugger.log.decoder_values import FOREIGN, EventParser, SummaryValue, read_numbers
from torch_debugger.log.media import PR_CURVES, Histogram, LoggedPicture, PrCurve, Sound, Text, pr_curves
from torch_debugger.records import (
    HparamsFact,
    ModelFact,
    Record,
    RunFact,
    Scalars,
    SeedFact,
    Surroundings,
    Table,
    TensorRows,
)
from torch_debugger.records.run import HparamValue
from torch_debugger.system.clocks import time

# What a log holds beside numbers, for those who show it: judges have no use for pictures, texts and sounds.
_LARGEST_GRID = 10_000  # numbers of a tensor that is sent as a table


@dataclass(frozen=True, slots=True, eq=False)
class LoggedRows:
    """A tensor of one or two dimensions, as rows."""

    step: int
    time: float
    rows: NDArray[np.float64] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Other:
    """What no tracker is sent: it stays in the log, and is counted."""

    kind: str


Medium = Histogram | LoggedPicture | Text | Sound | PrCurve | LoggedRows | Other | dict[str, HparamValue]

# What can be in a log of ours or in a writer's, in words for one of them.
_NAMES = {
    "tensor": "tensor",
    parsing.TENSORS: "tensor",
    parsing.GRAPHS: "graph",
    parsing.MESHES: "part of a mesh",
    "custom_scalars": "layout of charts",
}
_NUMBERS = (parsing.SCALARS, parsing.RECORDS, parsing.ROWS)  # are carried as records
_DECODERS: dict[str, Callable[[int, float, SummaryValue], Iterator[Any]]] = {
    parsing.PICTURES: media.pictures,
    parsing.HISTOGRAMS: media.histograms,
    parsing.TEXTS: media.texts,
    parsing.SOUNDS: media.sounds,
    PR_CURVES: pr_curves,
}


class MediaDecoder(Decoder):
    """Gives the records of a log, and tells `see` of what it holds besides, with its tag."""

    def __init__(self, see: Callable[[str, Medium], None]) -> None:
        super().__init__()
        self._see = see
        self._parser = EventParser()

    def decode(self, payload: bytes) -> list[Record]:
        records = super().decode(payload)
        if not records:
            with suppress(*FOREIGN):
                event = self._parser.parse(payload)
                for value in event.values:
                    for medium in _media(event.step, event.time, value):
                        self._see(value.tag, medium)
        return records


def _media(step: int, time: float, value: SummaryValue) -> list[Medium]:
    if value.kind in _NUMBERS:
        return []
    if value.kind == "hparams":
        return [{**media.hparams(value)}]
    try:
        if value.kind in ("tensor", parsing.TENSORS):
            numbers = read_numbers(value.body)
            if 1 <= numbers.ndim <= 2 and numbers.size <= _LARGEST_GRID:
                return [LoggedRows(step, time, np.atleast_2d(numbers))]
        elif value.kind in _DECODERS:
            return [*_DECODERS[value.kind](step, time, value)]
    except FOREIGN:
        pass  # it is counted like all that cannot be sent
    return [Other(_NAMES.get(value.kind, f"value of kind {value.kind}"))]


@dataclass(slots=True)
class StepValues:
    """The numbers of one step."""

    step: int
    time: float  # seconds since the epoch
    values: dict[str, float]


@dataclass(slots=True)
class Parcel:
    """What came since the last one."""

    points: list[StepValues] = field(default_factory=list)  # in the order in which they came
    hparams: dict[str, HparamValue] = field(default_factory=dict)
    facts: dict[str, HparamValue] = field(default_factory=dict)  # script, versions, models, git, seeds
    pictures: list[tuple[str, LoggedPicture]] = field(default_factory=list)  # by tag
    histograms: list[tuple[str, Histogram]] = field(default_factory=list)
    others: list[tuple[str, Text | Sound | PrCurve | LoggedRows]] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)  # of all that is no number: how many, by its name

    def thin(self, most: int) -> int:
        """Leaves every n-th point and the last one, where there are more than `most`; how many are left out."""
        before, stride = len(self.points), -(-len(self.points) // most)
        if stride > 1:
            self.points = [*self.points[:-1:stride], self.points[-1]]
        return before - len(self.points)


# The kinds that a receiver may take besides numbers, in words for one of them.
NAMES: dict[type, str] = {
    LoggedPicture: "picture", Histogram: "histogram", Text: "text", Sound: "sound", PrCurve: "precision-recall curve",
    LoggedRows: "tensor",
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
        if isinstance(medium, LoggedPicture):
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
            points.append(StepValues(step, self._time, dict(values)))


# What a tracker shows as the setting of a run. The command is that of Surroundings, which has no secrets.
Facts = dict[str, HparamValue]


def facts_of(record: Record) -> Facts:
    """By names such as run/torch or git/commit; empty for records that say nothing of the setting."""
    match record:
        case RunFact():
            return {
                "run/script": os.path.basename(record.script),
                "run/python": record.python,
                "run/torch": record.torch,
                "run/device": record.device,
                "run/torch_debugger": record.debugger,
            }
        case Surroundings():
            # Neither the script's text nor the diff nor hundreds of packages: they stay in the log.
            facts: Facts = {
                "run/command": shlex.join(record.command),
                "run/script_hash": record.script_hash,
                "git/commit": record.git_commit,
                "git/branch": record.git_branch,
                "git/dirty": "" if record.git_dirty is None or not record.git_commit else record.git_dirty,
            }
            facts |= {f"hardware/{name}": value for name, value in record.hardware.items()}
            facts |= {f"environment/{name}": value for name, value in record.environment.items()}
            return {name: value for name, value in facts.items() if value != ""}
        case SeedFact():
            return {f"seed/{name}": seed for name, seed in record.seeds.items()}
        case ModelFact():
            size = sum(math.prod(parameter.shape) for parameter in record.parameters)
            return {f"{record.root}/kind": record.kind, f"{record.root}/parameters": size}
        case _:
            return {}


# Tables of layers as a few series a tracker can draw: per tensor while they are few, else their spread.

# Of the numbers in a table the ones whose curves say most: dying, exploding, too large a step.
_TELLING = {
    "parameter": ("grad_norm",),
    "update": ("ratio",),
    "activation": ("std", "zeros"),
    "output_gradient": ("std",),
}
_MOST_SERIES = 300  # of all tables together: a page with more of them is read by nobody


class LayerSeries:
    """The series of one run. A table whose tensors do not fit any more gives lowest, median and highest."""

    def __init__(self) -> None:
        self._whole: dict[Table, bool] = {}
        self._series = 0

    def values(self, rows: TensorRows) -> dict[str, float]:
        """net.0.weight of update.ratio -> {"update_ratio/net.0.weight": 0.001}; unknown ones are left out."""
        found: dict[str, float] = {}
        for column in _TELLING.get(rows.table.kind, ()):
            if column in rows.table.columns:
                found |= self._of_column(rows, column)
        return found

    def _of_column(self, rows: TensorRows, column: str) -> dict[str, float]:
        heading, table = f"{rows.table.kind}_{column}", rows.table
        if table not in self._whole:
            wanted = len(table.names) * len(_TELLING[table.kind])
            self._whole[table] = self._series + wanted <= _MOST_SERIES
            self._series += wanted if self._whole[table] else 0
        known = {name: value for name, value in rows.by_name(column).items() if not math.isnan(value)}
        if self._whole[table]:
            return {f"{heading}/{name}": value for name, value in known.items()}
        if not known:
            return {}
        numbers = known.values()
        spread = {"lowest": min(numbers), "median": statistics.median(numbers), "highest": max(numbers)}
        return {f"{heading} of {table.root}/{which}": value for which, value in spread.items()}


# A histogram with as many bins as a tracker takes.
_MOST_BINS = 512  # of W&B and Trackio


def counts_and_edges(histogram: Histogram) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """As numpy.histogram gives them; neighbours are joined where there are too many, and no count is lost."""
    edges = np.append(histogram.lefts[:1], histogram.rights)
    joined = -(-len(histogram.counts) // _MOST_BINS)
    if joined > 1:
        starts = np.arange(0, len(histogram.counts), joined)
        return np.add.reduceat(histogram.counts, starts), np.append(edges[starts], edges[-1])
    return histogram.counts, edges
