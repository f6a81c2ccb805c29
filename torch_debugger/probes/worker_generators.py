"""Random generators that go into the workers of a loader as copies: looked for once, when it is first read."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data import IterableDataset

from torch_debugger.anatomy.generators import kept_generators
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.probes.loaders import Loaders
from torch_debugger.probes.watch import Watch
from torch_debugger.records import CopiedGenerator


class WorkerGenerators:
    def __init__(self, watch: Watch, loaders: Loaders) -> None:
        self.watch = watch
        self.loaders = loaders
        self._looked: set[int] = set()
        loaders.on_pass_begin.append(self._look)

    def _look(self, loader: Any, iterator: Any, state: torch.Tensor) -> None:
        number = self.loaders.deliveries.number_of(loader)
        seeded = loader.worker_init_fn is not None or is_a(loader.dataset, IterableDataset)
        if loader.num_workers < 2 or seeded or number in self._looked:
            return  # a stream that every worker goes through shows in the samples themselves
        self._looked.add(number)
        for kept in kept_generators(loader.dataset)[:1]:
            self.watch.emit(
                CopiedGenerator(
                    number, loader.num_workers, kept.owner, kept.attribute, kept.kind, kept.place, kept.drawn,
                    self.watch.step,
                )
            )  # fmt: skip
