"""How a run's folder stands at this moment, told from its files without reading them."""

from __future__ import annotations

import os
from typing import NamedTuple

from torch_debugger.archive.folders import event_files
from torch_debugger.archive.series_folders import series_folders
from torch_debugger.archive.status import may_grow

_RESULT = "result.json"  # written once a run of ours has ended


class Stand(NamedTuple):
    files: list[str]
    size_bytes: int
    changed: float  # seconds since the epoch
    ended: float  # when the run said how it ended; 0 if it has not

    @property
    def grows(self) -> bool:
        """Whether more may be written: the writer has not ended, as far as can be told."""
        return self.ended < self.changed and may_grow(self.files, self.changed)


def stand_of(folder: str) -> Stand:
    folders = [folder, *(series.folder for series in series_folders(folder))]
    paths = [path for each in folders for path in event_files(each)]
    files = {path: state for path in paths if (state := _state(path)) is not None}
    size = sum(each.st_size for each in files.values())
    changed = max((each.st_mtime for each in files.values()), default=0.0)
    result = _state(os.path.join(folder, _RESULT))
    return Stand(list(files), size, changed, result.st_mtime if result is not None else 0.0)


def _state(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:  # taken away in this moment
        return None
