"""A run by whatever a user calls it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from torch_debugger.archive.folders import event_files, find_runs
from torch_debugger.archive.named_places import named_place
from torch_debugger.archive.naming import NotInArchiveError
from torch_debugger.archive.run import Run
from torch_debugger.errors import UsageError
from torch_debugger.runlog.stores import is_url

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
            name
            for name in names
            if not any(f"/{'/'.join(parts[other])}".endswith(f"/{name}") for other in others)
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
