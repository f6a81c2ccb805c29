"""Files that a dataset opened before its workers were forked: whether their position moves while those load.

A forked process shares the position of an open file with all others. Where it moves although the training
process does not read, workers move it for each other.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import torch

from torch_debugger.anatomy.open_handles import OpenHandle, open_handles, position_of
from torch_debugger.probes.loaders import Loaders
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.watch import Watch
from torch_debugger.records import SharedHandle


@dataclass
class _Followed:
    loader: int
    workers: int
    handle: OpenHandle
    position: tuple[int, int, int] | None
    moves: int = 0


class SharedHandles(Probe):
    name = "shared handles"
    ENOUGH = 3  # moves; at the end of the run, one: a worker may have ended it
    LOOKS = 1000  # steps

    def __init__(self, watch: Watch, loaders: Loaders) -> None:
        super().__init__(watch)
        self.loaders = loaders
        self._looked: set[int] = set()
        self._followed: list[_Followed] = []
        self._looks = 0
        loaders.on_pass_begin.append(functools.partial(watch.probe, self.name, self._begin))
        loaders.on_pass_end.append(functools.partial(watch.probe, self.name, self._end))

    def remove(self) -> None:
        self._compare()
        for followed in self._followed:
            self._last_word(followed)
        self._followed.clear()

    def _last_word(self, followed: _Followed) -> None:
        if followed.moves:
            self._tell(followed, followed.moves)

    def give_up(self) -> None:
        self._followed.clear()

    def _begin(self, loader: Any, iterator: Any, state: torch.Tensor) -> None:
        number = self.loaders.deliveries.number_of(loader)
        if loader.num_workers < 2 or number in self._looked or not _is_forked(iterator):
            return
        self._looked.add(number)
        for handle in open_handles(loader.dataset):
            followed = _Followed(number, loader.num_workers, handle, position_of(handle.descriptor))
            if handle.descriptor >= 0:
                self._follow(followed)
            elif not handle.reopened and not _is_opened_by(loader.worker_init_fn, handle.attribute):
                self._tell(followed, -1)

    def _follow(self, followed: _Followed) -> None:
        if not self._followed and not self._looks:
            self.watch.between_steps.append(self._look)
        self._followed.append(followed)

    def _look(self, step: int, scalars: dict[str, float]) -> None:
        if self._followed and self._looks < self.LOOKS:
            self._looks += 1
            self.watch.probe(self.name, self._compare)

    def _compare(self) -> None:
        for followed in list(self._followed):
            before, now = followed.position, position_of(followed.handle.descriptor)
            if before is None or now is None or before[:2] != now[:2]:
                self._followed.remove(followed)  # it is closed, and will not move any more
                self._last_word(followed)
                continue
            followed.moves += before != now
            followed.position = now
            if followed.moves >= self.ENOUGH:
                self._followed.remove(followed)
                self._tell(followed, followed.moves)

    def _end(self, iterator: Any) -> None:
        if self._followed:
            self._compare()

    def _tell(self, followed: _Followed, moves: int) -> None:
        handle = followed.handle
        self.watch.emit(
            SharedHandle(
                loader=followed.loader,
                step=self.watch.step,
                workers=followed.workers,
                owner=handle.owner,
                attribute=handle.attribute,
                kind=handle.kind,
                file=handle.file,
                moves=moves,
                opened=handle.opened,
                used=handle.used,
            )
        )


def _is_forked(iterator: Any) -> bool:
    workers: list[Any] = getattr(iterator, "_workers", [])
    return bool(workers) and getattr(getattr(workers[0], "_popen", None), "method", "") == "fork"


def _is_opened_by(function: Any, attribute: str) -> bool:
    """A function that workers begin with mentions the attribute."""
    code = getattr(function, "__code__", None)
    return function is not None and (code is None or attribute in code.co_names)
