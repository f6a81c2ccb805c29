"""What writers keep in folders inside a run's: the series of `add_scalars` and the settings of `add_hparams`.

Looked at once, when the run has ended: which folders are the run's own is told by what is in them.
"""

from __future__ import annotations

from collections.abc import Iterator

from torch_debugger.archive.hparam_folders import folders_of_hparams, hparam_folders
from torch_debugger.archive.series_folders import series_folders
from torch_debugger.records import HparamsFact, Record, Scalars
from torch_debugger.runlog.reader import read_log


def records_inside(folder: str) -> Iterator[Record]:
    """Series are called CHART/SERIES, as everywhere. Where there are several settings they are trials, and none
    of them is the run's."""
    said = folders_of_hparams(folder)
    for inner in hparam_folders(folder):
        yield HparamsFact(dict(said[inner]), "add_hparams", 0)
        yield from (record for record in read_log(inner) if isinstance(record, Scalars))
    for series in series_folders(folder):
        for record in read_log(series.folder):
            if isinstance(record, Scalars):
                yield from (
                    Scalars(record.step, record.time, {series.tag: each}) for each in record.values.values()
                )
