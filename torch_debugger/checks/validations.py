"""Which passes over loaders are validations: those over data that no pass is ever trained on."""

from __future__ import annotations

from torch_debugger.records import PassFact


class Validations:
    """Told of every pass. A script that only evaluates has none: there is nothing to compare with."""

    def __init__(self) -> None:
        self._trained: set[int] = set()  # numbers of loaders that some pass was trained on

    def see(self, record: PassFact) -> bool:
        if record.updates or record.backwards:
            self._trained.add(record.loader)
        return bool(self._trained) and record.loader not in self._trained
