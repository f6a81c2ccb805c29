"""Pictures, histograms and hyperparameters of a log, for those who show them; judges have no use for them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from torch_debugger.archive import media
from torch_debugger.archive.media import Histogram, Picture
from torch_debugger.archive.parsing import FOREIGN, HISTOGRAMS, PICTURES, EventParser, Value
from torch_debugger.records import Record
from torch_debugger.records.surroundings import HparamValue
from torch_debugger.runlog.decoder import Decoder

Medium = Histogram | Picture | dict[str, HparamValue]


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
    if value.kind == PICTURES:
        return [*media.pictures(step, time, value)]
    if value.kind == HISTOGRAMS:
        return [*media.histograms(step, time, value)]
    return [{**media.hparams(value)}] if value.kind == "hparams" else []
