"""The runs below a folder, found at once and read when asked."""

from __future__ import annotations

import html
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import overload

from torch_debugger.log.folders import FoundRun, event_files, find_runs, find_stored_runs
from torch_debugger.log.object_stores import is_url, named_place
from torch_debugger.log.run import NotInArchiveError, Run, missing_run
from torch_debugger.system.clocks import time
from torch_debugger.system.errors import UsageError

_MOST_SHOWN = 20


def runs(folder: str | os.PathLike[str] = "runs") -> Runs:
    """All runs below `folder`, which can be a URL (s3://bucket/runs), whoever wrote them: torch-debugger,
    TensorBoard, tensorboardX, Lightning.

    runs["name"] and runs[0] give one, with its curves, findings, hyperparameters and pictures.
    """
    root = os.fspath(folder)
    if is_url(root):
        return Runs(root, find_stored_runs(root))
    if not os.path.isdir(root):
        raise UsageError(f"There is no folder {root!r} to look for runs in. Name the one that was given as --log-dir.")
    return Runs(root, find_runs(root))


class Runs(Sequence[Run]):
    """In the order of their names; one that is asked for twice is the same."""

    def __init__(self, folder: str, found: list[FoundRun]) -> None:
        self.folder = folder
        self.found = found
        self._places = {each.name: place for place, each in enumerate(found)}
        self._opened: dict[str, Run] = {}

    @property
    def names(self) -> list[str]:
        return list(self._places)

    def __len__(self) -> int:
        return len(self.found)

    @overload
    def __getitem__(self, which: int | str) -> Run: ...
    @overload
    def __getitem__(self, which: slice) -> Runs: ...
    def __getitem__(self, which: int | str | slice) -> Run | Runs:
        if isinstance(which, slice):
            return Runs(self.folder, self.found[which])
        if isinstance(which, str) and which not in self._places:
            raise missing_run(which, self.names, self.folder)
        found = self.found[self._places[which] if isinstance(which, str) else which]
        return self._opened.setdefault(found.name, Run(found.folder, found.name))

    def __iter__(self) -> Iterator[Run]:
        return (self[place] for place in range(len(self)))

    def __contains__(self, which: object) -> bool:
        return which in self._places if isinstance(which, str) else super().__contains__(which)

    def __repr__(self) -> str:
        rows = [f"  {name}  {when}  {size}" for name, when, size in self._shown()]
        return "\n".join([f"{self._heading()}", *rows, *self._left_out()])

    def _repr_html_(self) -> str:
        cells = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in self._shown())
        rows = "".join(f"<tr>{row}</tr>" for row in cells)
        words = html.escape(" ".join([self._heading(), *self._left_out()]))
        return f"<table><caption>{words}</caption><tr><th>run<th>last written<th>size</tr>{rows}</table>"

    def _heading(self) -> str:
        count = len(self)
        return f"{count:,} run{'s' * (count != 1)} in {self.folder!r}{':' * (count > 0)}"

    def _left_out(self) -> list[str]:
        more = len(self) - _MOST_SHOWN
        return [f"  and {more:,} older"] if more > 0 else []

    def _shown(self) -> Iterator[tuple[str, str, str]]:
        for each in sorted(self.found, key=lambda found: -found.changed)[:_MOST_SHOWN]:
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(each.changed))
            yield repr(each.name), when, f"{each.size_bytes / 1e6:.1f} MB"


# A run by whatever a user calls it.
_MOST_NAMED = 8


def open_run(where: str | os.PathLike[str] | Run) -> Run:
    """The folder of a log, its name under ./runs, a URL, the result.json beside a log, or a run itself; each
    with a name in front of it (base:runs/a), if it is to be called so."""
    if isinstance(where, Run):
        return where
    name, place = named_place(os.fspath(where))
    return Run(place if is_url(place) else _folder(Path(place)), name)


def open_one_run(where: str | os.PathLike[str] | Run) -> Run:
    """The same; a folder that holds no log of its own stands for the only run below it."""
    run = open_run(where)
    if is_url(run.folder) or not os.path.isdir(run.folder) or event_files(run.folder):
        return run
    below = find_runs(run.folder)
    if len(below) == 1:
        return Run(below[0].folder, named_place(os.fspath(where))[0] if not isinstance(where, Run) else None)
    if not below:
        raise UsageError(f"There is no log in {run.folder}: no event file is in it or below it.")
    named = ", ".join(each.name for each in below[:_MOST_NAMED])
    more = f" and {len(below) - _MOST_NAMED:,} more" if len(below) > _MOST_NAMED else ""
    raise NotInArchiveError(f"{run.folder} holds {len(below):,} runs. Name one of them: {named}{more}.")


def open_runs_of(places: Sequence[str | os.PathLike[str] | Run]) -> list[Run]:
    """Each run once, in this order; a folder that holds no log of its own stands for all runs below it. Runs of
    one name are called by their folders."""
    runs: dict[str, Run] = {}
    for place in places:
        run = open_run(place)
        is_above = not is_url(run.folder) and os.path.isdir(run.folder) and not event_files(run.folder)
        below = find_runs(run.folder) if is_above else []
        for each in [Run(one.folder, one.name) for one in below] if len(below) > 1 else [open_one_run(place)]:
            runs.setdefault(os.path.abspath(each.folder) if not is_url(each.folder) else each.folder, each)
    shared = Counter(run.name for run in runs.values())
    return [run if shared[run.name] == 1 else Run(run.folder, name) for name, run in _by_folder(runs)]


def _by_folder(runs: Mapping[str, Run]) -> Iterator[tuple[str, Run]]:
    """Each with as much of the end of its path as no other has."""
    parts = {place: place.split(os.sep) for place in runs}
    longest = max(map(len, parts.values()), default=0)
    for place, run in runs.items():
        names = ["/".join(parts[place][-count:]) for count in range(1, longest + 1)]
        others = [other for other in parts if other != place]
        ends = (
            name for name in names if not any(f"/{'/'.join(parts[other])}".endswith(f"/{name}") for other in others)
        )
        yield next(ends, place), run


def newest_run(folder: str = "runs") -> Run:
    """The one that was written last."""
    found = find_runs(folder)
    if not found:
        raise UsageError(f"There is no run below ./{folder}. Name the folder of a log.")
    last = max(found, key=lambda each: each.changed)
    return Run(last.folder)


def _folder(where: Path) -> Path:
    if where.is_file():
        return where.parent
    for candidate in (where, Path("runs") / where):
        if candidate.is_dir():
            return candidate
    raise UsageError(
        f"There is no run {os.fspath(where)}. Name the folder of a log, a run under ./runs, or a result.json."
    )
