"""What a log holds beside numbers, for those who show it: judges have no use for pictures, texts and sounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.archive import media, parsing
from torch_debugger.archive.media import Histogram, Picture, Sound, Text
from torch_debugger.archive.parsing import FOREIGN, EventParser, Value
from torch_debugger.archive.pr_curves import KIND as PR_CURVES
from torch_debugger.archive.pr_curves import PrCurve, pr_curves
from torch_debugger.archive.tensors import read_numbers
from torch_debugger.records import Record
from torch_debugger.records.surroundings import HparamValue
from torch_debugger.runlog.decoder import Decoder

_LARGEST_GRID = 10_000  # numbers of a tensor that is sent as a table


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """A tensor of one or two dimensions, as rows."""

    step: int
    time: float
    rows: NDArray[np.float64] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Other:
    """What no tracker is sent: it stays in the log, and is counted."""

    kind: str


Medium = Histogram | Picture | Text | Sound | PrCurve | Grid | Other | dict[str, HparamValue]

# What can be in a log of ours or in a writer's, in words for one of them.
_NAMES = {
    "tensor": "tensor",
    parsing.TENSORS: "tensor",
    parsing.GRAPHS: "graph",
    parsing.MESHES: "part of a mesh",
    "custom_scalars": "layout of charts",
}
_NUMBERS = (parsing.SCALARS, parsing.RECORDS, parsing.ROWS)  # are carried as records
_DECODERS: dict[str, Callable[[int, float, Value], Iterator[Any]]] = {
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
                self._look(payload)
        return records

    def _look(self, payload: bytes) -> None:
        event = self._parser.parse(payload)
        for value in event.values:
            for medium in _media(event.step, event.time, value):
                self._see(value.tag, medium)


def _media(step: int, time: float, value: Value) -> list[Medium]:
    if value.kind in _NUMBERS:
        return []
    if value.kind == "hparams":
        return [{**media.hparams(value)}]
    try:
        if value.kind in ("tensor", parsing.TENSORS):
            numbers = read_numbers(value.body)
            if 1 <= numbers.ndim <= 2 and numbers.size <= _LARGEST_GRID:
                return [Grid(step, time, np.atleast_2d(numbers))]
        elif value.kind in _DECODERS:
            return [*_DECODERS[value.kind](step, time, value)]
    except FOREIGN:
        pass  # it is counted like all that cannot be sent
    return [Other(_NAMES.get(value.kind, f"value of kind {value.kind}"))]
