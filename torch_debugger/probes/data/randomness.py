"""Seeds that are set again while training goes on: does the training after them repeat itself?

One call of `torch.manual_seed` costs 10 us more; nothing else does. What counts is the random state when the
first step after it is over: in a fork of the state, or for a picture, training goes on with its own.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch.utils.data import IterableDataset

from torch_debugger.probes.data.loaders import Loaders
from torch_debugger.probes.loss_backward import Backward
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.probe import Patches, Probe
from torch_debugger.probes.watch import Watch
from torch_debugger.records import CopiedGenerator, FixedDraw, Place, Reseeding, ShuffledPair
from torch_debugger.source.datasets import kept_generators
from torch_debugger.source.files import is_user_file
from torch_debugger.source.frames import frames, place_of, user_frame
from torch_debugger.source.objects import is_a
from torch_debugger.source.seeds_and_shuffles import fixed_orders, shuffled_apart
from torch_debugger.stats.dispatch_modes import same_state
from torch_debugger.system.tracebacks import hidden_in_tracebacks


@dataclass
class _Seeding:
    place: Place
    seed: int
    fresh: torch.Tensor  # the random state that the seed gives
    updates: int  # of all optimizers, when it was set
    after: torch.Tensor | None = None  # the random state at the end of the step that followed


class Seeds(Probe):
    name = "seeds"
    deep_only = True  # until torch is seeded in the course of a training
    LIMIT = 16  # lines that seed

    def __init__(self, watch: Watch, optimizers: Optimizers) -> None:
        super().__init__(watch)
        self.optimizers = optimizers
        self._last: dict[Place, _Seeding] = {}  # of each line
        self._waiting: list[tuple[_Seeding, _Seeding | None]] = []  # for a step to end; what came before
        self._listens = False
        self._ours: Any = None

    def install(self, patches: Patches) -> None:
        around = functools.cache(self._around)  # one for both names: dynamo asks whether they are the same
        for owner in (torch.random, torch):
            patches.replace(owner, "manual_seed", around)
        self._ours = torch.manual_seed

    def remove(self) -> None:
        """Dynamo, which the first optimizer imports, wraps what it finds; it is left with torch's own."""
        torchs: Any = torch  # its own names for this have no types
        if self._ours is not None and vars(torchs.manual_seed).get("__wrapped__") is self._ours:
            torchs.manual_seed = torchs._disable_dynamo(self._ours.__wrapped__)
            torchs.jit._builtins._get_builtin_table()[id(torch.manual_seed)] = "aten::manual_seed"

    def _around(self, original: Any) -> Any:
        @functools.wraps(original)
        def manual_seed(seed: Any) -> Any:
            if torch.compiler.is_compiling():
                return original(seed)
            with hidden_in_tracebacks:
                generator = original(seed)
            if self.watch.clock.optimizer_steps:
                self.watch.probe(self.name, self._see, seed)
            return generator

        return manual_seed

    def _see(self, seed: Any) -> None:
        frame = user_frame(2)
        # The line that calls set_seed() or seed_everything() is the one to move.
        while frame is not None and "seed" in frame.f_code.co_name and frame.f_back is not None:
            frame = frame.f_back
        place = place_of(frame)
        if place not in self._last and len(self._last) >= self.LIMIT:
            return
        if not self._listens:
            self._listens = True
            self.watch.tell_of_light_steps(self)
        before = self._last.get(place)
        now = _Seeding(place, int(seed), torch.get_rng_state(), self.watch.clock.optimizer_steps)
        self._last[place] = now
        self._waiting = [*(each for each in self._waiting if each[0].place != place), (now, before)]

    def end_step(self) -> None:
        waiting, self._waiting = self._waiting, []
        state = torch.get_rng_state() if waiting else None
        for now, before in waiting:
            if self.watch.clock.optimizer_steps == now.updates:
                continue  # a step by hand: whether another training has begun, no optimizer tells
            now.after = state
            if before is not None and before.seed == now.seed and before.after is not None:
                self._tell(now, before)

    def _tell(self, now: _Seeding, before: _Seeding) -> None:
        assert now.after is not None and before.after is not None
        self.watch.emit(
            Reseeding(
                self.watch.step,
                now.seed,
                now.place,
                now.updates - before.updates,
                not same_state(now.after, now.fresh),
                same_state(now.after, before.after),
                min((tracked.steps for tracked, _ in self.optimizers.live()), default=0),
            )
        )


# Random generators that go into the workers of a loader as copies: looked for once, when it is first read.
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


# What a script's source tells by itself, read once, when its first loss is seen: arrays that are shuffled apart, and
# batches drawn by hand from the same seed each time.
class SourceReading:
    MOST = 2  # told of each kind
    FILES = 8

    def __init__(self, watch: Watch, backward: Backward) -> None:
        self.watch = watch
        self._read = False
        backward.on_look.append(self.look)

    def look(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        if self._read:
            return
        self._read = True
        running = dict.fromkeys(each.f_code.co_filename for each in frames(2))
        files = [file for file in running if is_user_file(file)][: self.FILES]
        for pair in itertools.islice((pair for file in files for pair in shuffled_apart(file)), self.MOST):
            fields = (pair.first, pair.second, pair.both, pair.place, self.watch.step, pair.index)
            self.watch.emit(ShuffledPair(*fields))
        for order in itertools.islice((order for file in files for order in fixed_orders(file)), self.MOST):
            self.watch.emit(FixedDraw(order.function, order.each, order.seed, order.call, self.watch.step))
