"""DataLoaders: who they are, how long the training waits for them, what a batch looks like."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import isfinite
from torch._C._autograd import _profiler_enabled
from torch.utils.data import DataLoader, IterableDataset
from torch.utils.data.dataloader import _BaseDataLoaderIter, _MultiProcessingDataLoaderIter, default_collate

from torch_debugger.model.hooks import WeakKeysById
from torch_debugger.probes.data.batches import Deliveries, LastBatch, RecentBatches
from torch_debugger.probes.data.loading_times import LineClock, LoadingTimes
from torch_debugger.probes.probe import Patches, Probe
from torch_debugger.probes.schedule import DEEP
from torch_debugger.probes.step_times import COPY, DATA, EVALUATION, LOGGING
from torch_debugger.probes.watch import Watch
from torch_debugger.records import BatchFact, LoaderFact, Place
from torch_debugger.records.data import SampleSeen
from torch_debugger.source.dataloaders import is_shuffled, random_state, share_of, statements_behind
from torch_debugger.source.datasets import base_of, batch_count, class_names, sample_count, stored_data
from torch_debugger.source.frames import place_of, user_frame
from torch_debugger.source.objects import is_a
from torch_debugger.source.variables import aliases
from torch_debugger.stats.dispatch_modes import item_of, no_grad
from torch_debugger.system.clocks import time
from torch_debugger.system.tracebacks import hidden_in_tracebacks


class Loaders(Probe):
    name = "loaders"
    LIMIT = 16  # loaders told; a script that makes one an epoch must not fill the log

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._reported: set[int] = set()
        self._made: MutableMapping[Any, Place] = WeakKeysById()
        self._dataset_aliases: MutableMapping[Any, tuple[str, ...]] = WeakKeysById()
        self._datasets: dict[int, int] = {}  # id of a dataset -> its number
        self._waited_s = 0.0
        self.batches_to_train_on = 0  # those taken while gradients are recorded
        self._looked_at = 0  # the step whose batch was measured
        self.recent = RecentBatches()
        self.deliveries = Deliveries(watch)
        self.times = LoadingTimes(watch)
        # Told of the loader, the iterator and the random state before it; then of the iterator.
        self.on_pass_begin: list[Callable[[Any, Any, torch.Tensor], None]] = []
        self.on_pass_end: list[Callable[[Any], None]] = []
        self.asked: Callable[[], AskedBatches | None] = lambda: None  # answered by whoever times the workers
        self.last = LastBatch(watch)

    def install(self, patches: Patches) -> None:
        patches.replace(DataLoader, "__init__", self._around_init)
        patches.replace(DataLoader, "__iter__", self._around_iter)
        patches.replace(_BaseDataLoaderIter, "__next__", self._around_next)
        patches.replace(_MultiProcessingDataLoaderIter, "_shutdown_workers", self._around_shutdown)

    def end_step(self) -> None:
        if self._waited_s:
            self.watch.scalars["time/data_wait_s"] = self._waited_s
            self._waited_s = 0.0
            self.deliveries.flush()
            self.times.end_step()

    def _around_init(self, original: Any) -> Any:
        @functools.wraps(original)
        def __init__(loader: Any, *arguments: Any, **keywords: Any) -> None:  # noqa: N807
            with hidden_in_tracebacks:
                original(loader, *arguments, **keywords)
            self.watch.probe("loaders", self._note_maker, loader)

        return __init__

    def _note_maker(self, loader: Any) -> None:
        frame = user_frame(2)
        self._made[loader] = place_of(frame)
        self._dataset_aliases[loader] = aliases(loader.dataset, frame)

    def _around_iter(self, original: Any) -> Any:
        @functools.wraps(original)
        def __iter__(loader: Any) -> Any:  # noqa: N807
            self.watch.probe("loaders", self._meet, loader)
            state = self.watch.probe("loaders", random_state, loader)  # drawn from in the next line
            self.watch.mark(self.watch.phases.enter, DATA)  # workers are started here
            start = time.perf_counter()
            with hidden_in_tracebacks:
                iterator = original(loader)
            took_s = time.perf_counter() - start
            self.watch.probe("loaders", self._begin_pass, loader, iterator, state, took_s)
            return iterator

        return __iter__

    def _around_next(self, original: Any) -> Any:
        @functools.wraps(original)
        def __next__(iterator: Any) -> Any:  # noqa: N807
            start, cpu_start = time.perf_counter(), time.thread_time()
            mark, enter = self.watch.mark, self.watch.phases.enter
            mark(enter, DATA)
            clock = self.watch.probe("loaders", self.times.clock_for, iterator)
            try:
                with hidden_in_tracebacks:
                    batch = original(iterator) if clock is None else self._timed(clock, original, iterator)
            except StopIteration:
                mark(enter, LOGGING)
                self.watch.probe("loaders", self._end_pass, iterator)
                raise
            waited_s, cpu_s = time.perf_counter() - start, time.thread_time() - cpu_start
            self._waited_s += waited_s
            mark(enter, COPY if torch.is_grad_enabled() else EVALUATION)
            self.batches_to_train_on += torch.is_grad_enabled()
            waits = (waited_s, cpu_s) if clock is None else None
            self.watch.probe("loaders", self._delivered, iterator, batch, waits)
            opening = iterator._num_yielded <= self.deliveries.OPENING
            if opening or self.deliveries.is_early or self.watch.depth == DEEP:
                self.watch.probe("loaders", self._see, iterator, batch)
            if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
                self.watch.probe("loaders", self._keep, batch)
            return batch

        return __next__

    def _around_shutdown(self, original: Any) -> Any:
        @functools.wraps(original)
        def _shutdown_workers(iterator: Any) -> None:
            if not getattr(iterator, "_shutdown", True):  # else they have ended before
                self.watch.probe("loaders", self.times.closing, iterator)
            start = time.perf_counter()
            with hidden_in_tracebacks:
                original(iterator)
            self.watch.probe("loaders", self.times.closed, iterator, time.perf_counter() - start)

        return _shutdown_workers

    def _timed(self, clock: LineClock, original: Any, iterator: Any) -> Any:
        before_s = clock.own_s
        with clock.running(), hidden_in_tracebacks:
            batch = original(iterator)
        self.watch.guard.spent_s += clock.own_s - before_s
        return batch

    def _begin_pass(self, loader: Any, iterator: Any, state: torch.Tensor, took_s: float) -> None:
        self.deliveries.begin(loader, iterator)
        self.times.begin_pass(self.deliveries.number_of(loader), iterator, took_s)
        for listen in self.on_pass_begin:
            listen(loader, iterator, state)

    def _delivered(self, iterator: Any, batch: Any, waits: tuple[float, float] | None) -> None:
        self.times.delivered(iterator, batch, waits)
        self.last.see(batch, iterator)

    def _end_pass(self, iterator: Any) -> None:
        self.last.let_go()
        self.deliveries.exhausted(iterator)
        for listen in self.on_pass_end:
            listen(iterator)

    def _see(self, iterator: Any, batch: Any) -> None:
        if _profiler_enabled():  # what the script's profiler shows is the script's
            return
        if self.watch.depth == DEEP and self._looked_at != self.watch.step:
            self._looked_at = self.watch.step
            for name, tensor in batch_tensors(batch):
                plain = tensor.layout is torch.strided and not tensor.is_complex() and not tensor.is_meta
                if plain and not tensor.is_cuda and tensor.numel():
                    self.watch.emit(describe_batch(name, tensor, self.watch.step))
        self.deliveries.see(iterator, batch)

    def remove(self) -> None:
        self.recent.let_go()
        self.last.let_go()

    def _keep(self, batch: Any) -> None:
        self.recent.see(batch_tensors(batch))

    def _meet(self, loader: Any) -> None:
        number = self.deliveries.number_of(loader)
        if number in self._reported or len(self._reported) >= self.LIMIT:
            return
        self._reported.add(number)
        sampler = getattr(loader, "sampler", None)
        replica, replicas = share_of(sampler)
        samples = sample_count(loader.dataset)
        made = self._made.get(loader, Place())
        self.watch.emit(
            LoaderFact(
                dataset=type(loader.dataset).__name__,
                length=batch_count(loader),
                batch_size=loader.batch_size, workers=loader.num_workers,
                shuffle=is_shuffled(sampler),
                place=place_of(user_frame(2)),
                step=self.watch.step,
                number=number,
                names=aliases(loader, user_frame(2)),
                made=made, samples=samples, drop_last=bool(loader.drop_last),
                base=self._datasets.setdefault(id(base_of(loader.dataset)), len(self._datasets) + 1),
                upstream=statements_behind(made, self._dataset_aliases.get(loader, ())),
                classes=class_names(base_of(loader.dataset)),
                iterable=is_a(loader.dataset, IterableDataset),
                persistent=bool(loader.persistent_workers),
                prefetch=loader.prefetch_factor or 0,
                collates=loader.collate_fn is default_collate,
                holds=stored_data(base_of(loader.dataset), samples),
                sampler=type(sampler).__name__, replica=replica, replicas=replicas,
            )
        )  # fmt: skip


def batch_tensors(batch: Any, limit: int = 8) -> list[tuple[str, torch.Tensor]]:
    if is_a(batch, torch.Tensor):
        return [("batch", batch)]
    if is_a(batch, Mapping):
        items = [(f"batch[{key!r}]", value) for key, value in batch.items()]
    elif is_a(batch, (tuple, list)):
        items = [(f"batch[{index}]", value) for index, value in enumerate(batch)]
    else:
        return []
    return [(name, value) for name, value in items if is_a(value, torch.Tensor)][:limit]


@no_grad()
def describe_batch(name: str, tensor: torch.Tensor, step: int) -> BatchFact:
    numbers = tensor.detach().reshape(-1)[: 2**20].to(torch.float32)
    finite = isfinite(numbers)
    wrong = int(numbers.numel() - finite.sum())
    kept = numbers[finite] if wrong else numbers
    low, high = (item_of(kept.min()), item_of(kept.max())) if kept.numel() else (0.0, 0.0)
    mean = item_of(kept.mean()) if kept.numel() else 0.0
    std = item_of(kept.std(correction=0)) if kept.numel() else 0.0
    dtype = str(tensor.dtype).removeprefix("torch.")
    return BatchFact(name, tuple(tensor.shape), dtype, low, high, mean, std, wrong, step)


# What the workers of the last loader were asked for and had not delivered; known also when that is gone.
@dataclass(frozen=True)
class AskedBatches:
    pids: tuple[int, ...]  # of worker 0, 1 and so on
    indices: Mapping[int, tuple[int, ...]]  # batch -> its samples
    # worker -> the batch and the sample that it was seen at for longer than at others
    seen: Mapping[int, tuple[int, SampleSeen]] = field(default_factory=dict)

    def worker_of(self, pid: int) -> int | None:
        return self.pids.index(pid) if pid in self.pids else None

    def of_worker(self, worker: int) -> dict[int, tuple[int, ...]]:
        """Batches are asked for in turn, of worker 0 the first."""
        turn = len(self.pids)
        return {batch: found for batch, found in sorted(self.indices.items()) if batch % turn == worker}
