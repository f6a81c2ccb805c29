"""The runs below a folder, found at once and read when asked."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator, Sequence
from typing import overload

from torch_debugger.archive.folders import Found, find_runs
from torch_debugger.archive.naming import missing_run
from torch_debugger.archive.places import find_stored_runs
from torch_debugger.archive.run import Run
from torch_debugger.clocks import time
from torch_debugger.errors import UsageError
from torch_debugger.runlog.stores import is_url

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
        raise UsageError(
            f"There is no folder {root!r} to look for runs in. Name the one that was given as --log-dir."
        )
    return Runs(root, find_runs(root))


class Runs(Sequence[Run]):
    """In the order of their names; one that is asked for twice is the same."""

    def __init__(self, folder: str, found: list[Found]) -> None:
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
