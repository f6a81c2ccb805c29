"""DataLoaders: who they are, how long the training waits for them, what a batch looks like."""

from __future__ import annotations

import functools
import inspect
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.overrides import _get_current_function_mode_stack
from torch.utils._device import DeviceContext
from torch.utils.data import DataLoader, RandomSampler, SequentialSampler, Subset
from torch.utils.data.dataloader import _BaseDataLoaderIter

from torch_debugger.anatomy.aliases import aliases
from torch_debugger.anatomy.frames import place_of, user_frame
from torch_debugger.anatomy.upstream import statements_behind
from torch_debugger.probes.deliveries import Deliveries
from torch_debugger.probes.patches import Patches
from torch_debugger.probes.recent import RecentBatches
from torch_debugger.probes.sampling import DEEP
from torch_debugger.probes.watch import Probe, Watch
from torch_debugger.records import BatchFact, LoaderFact, Place

_MOST_CLASSES, _LONGEST_NAME = 1000, 60


class Loaders(Probe):
    name = "loaders"
    LIMIT = 16  # loaders told; a script that makes one an epoch must not fill the log

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._told: set[int] = set()
        self._made: weakref.WeakKeyDictionary[Any, Place] = weakref.WeakKeyDictionary()
        self._given: weakref.WeakKeyDictionary[Any, tuple[str, ...]] = weakref.WeakKeyDictionary()
        self._datasets: dict[int, int] = {}  # id of a dataset -> its number
        self._waited_s = 0.0
        self.batches_to_train_on = 0  # those taken while gradients are recorded
        self._looked_at = 0  # the step whose batch was measured
        self.recent = RecentBatches()
        self.deliveries = Deliveries(watch)
        # Told of the loader, the iterator and the random state before it; then of the iterator.
        self.on_pass_begin: list[Callable[[Any, Any, torch.Tensor], None]] = []
        self.on_pass_end: list[Callable[[Any], None]] = []
        # The last batch and its dataset, for a step that must be run again; the user's loop holds it as long.
        self.last: tuple[Any, Any] = (None, None)

    def install(self, patches: Patches) -> None:
        patches.replace(DataLoader, "__init__", self._around_init)
        patches.replace(DataLoader, "__iter__", self._around_iter)
        patches.replace(_BaseDataLoaderIter, "__next__", self._around_next)

    def end_step(self) -> None:
        if self._waited_s:
            self.watch.scalars["time/data_wait_s"] = self._waited_s
            self._waited_s = 0.0
            self.deliveries.flush()

    def _around_init(self, original: Any) -> Any:
        @functools.wraps(original)
        def __init__(loader: Any, *arguments: Any, **keywords: Any) -> None:  # noqa: N807
            original(loader, *arguments, **keywords)
            self.watch.probe("loaders", self._note_maker, loader)

        return __init__

    def _note_maker(self, loader: Any) -> None:
        frame = user_frame(2)
        self._made[loader] = place_of(frame)
        self._given[loader] = aliases(loader.dataset, frame)

    def _around_iter(self, original: Any) -> Any:
        @functools.wraps(original)
        def __iter__(loader: Any) -> Any:  # noqa: N807
            self.watch.probe("loaders", self._meet, loader)
            state = self.watch.probe("loaders", random_state, loader)  # drawn from in the next line
            iterator = original(loader)
            self.watch.probe("loaders", self._begin_pass, loader, iterator, state)
            return iterator

        return __iter__

    def _around_next(self, original: Any) -> Any:
        @functools.wraps(original)
        def __next__(iterator: Any) -> Any:  # noqa: N807
            start = time.perf_counter()
            try:
                batch = original(iterator)
            except StopIteration:
                self.last = (None, None)
                self.watch.probe("loaders", self._end_pass, iterator)
                raise
            self._waited_s += time.perf_counter() - start
            self.batches_to_train_on += torch.is_grad_enabled()
            opening = iterator._num_yielded <= self.deliveries.OPENING
            if opening or self.deliveries.is_early or self.watch.depth == DEEP:
                self.watch.probe("loaders", self._see, iterator, batch)
            self.last = (batch, iterator._dataset)
            if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
                self.watch.probe("loaders", self._keep, batch)
            return batch

        return __next__

    def _begin_pass(self, loader: Any, iterator: Any, state: torch.Tensor) -> None:
        self.deliveries.begin(loader, iterator)
        for listen in self.on_pass_begin:
            listen(loader, iterator, state)

    def _end_pass(self, iterator: Any) -> None:
        self.deliveries.exhausted(iterator)
        for listen in self.on_pass_end:
            listen(iterator)

    def _see(self, iterator: Any, batch: Any) -> None:
        if self.watch.depth == DEEP:
            self._measure(batch)
        self.deliveries.see(iterator, batch)

    def remove(self) -> None:
        self.recent.let_go()
        self.last = (None, None)

    def _keep(self, batch: Any) -> None:
        self.recent.see(batch_tensors(batch))

    def _meet(self, loader: Any) -> None:
        number = self.deliveries.number_of(loader)
        if number in self._told or len(self._told) >= self.LIMIT:
            return
        self._told.add(number)
        sampler = getattr(loader, "sampler", None)
        shuffle = True if isinstance(sampler, RandomSampler) else None
        shuffle = False if isinstance(sampler, SequentialSampler) else shuffle
        made = self._made.get(loader, Place())
        self.watch.emit(
            LoaderFact(
                dataset=type(loader.dataset).__name__,
                length=_length(loader),
                batch_size=loader.batch_size,
                workers=loader.num_workers,
                shuffle=shuffle,
                place=place_of(user_frame(2)),
                step=self.watch.step,
                number=number,
                names=aliases(loader, user_frame(2)),
                made=made,
                samples=_samples(loader.dataset),
                drop_last=bool(loader.drop_last),
                base=self._datasets.setdefault(id(base_of(loader.dataset)), len(self._datasets) + 1),
                upstream=statements_behind(made, self._given.get(loader, ())),
                classes=_class_names(base_of(loader.dataset)),
            )
        )

    def _measure(self, batch: Any) -> None:
        if self._looked_at == self.watch.step:
            return
        self._looked_at = self.watch.step
        for name, tensor in batch_tensors(batch):
            if not tensor.is_cuda and _has_numbers(tensor):
                self.watch.emit(describe_batch(name, tensor, self.watch.step))


def _has_numbers(tensor: torch.Tensor) -> bool:
    plain = tensor.layout is torch.strided and not tensor.is_complex() and not tensor.is_meta
    return plain and tensor.numel() > 0


def base_of(dataset: Any) -> Any:
    """The dataset that a part is a part of."""
    for _ in range(8):
        if not isinstance(dataset, Subset):
            break
        dataset = dataset.dataset
    return dataset


def _class_names(dataset: Any) -> tuple[str, ...]:
    """As datasets of torchvision have them. Looked up without running a property of the user's."""
    names = inspect.getattr_static(dataset, "classes", ())
    plain = type(names) in (list, tuple) and all(type(name) is str for name in names[:_MOST_CLASSES])
    return tuple(name[:_LONGEST_NAME] for name in names[:_MOST_CLASSES]) if plain else ()


def _samples(dataset: Any) -> int | None:
    try:
        return len(dataset)
    except TypeError:  # a stream
        return None


def random_state(loader: Any) -> torch.Tensor:
    """Of the generator that an iteration over this loader draws from."""
    return (loader.generator or _default_generator()).get_state()


def _default_generator() -> torch.Generator:
    """Of the device that new tensors are made on: a loader draws its seeds there."""
    device = _default_device()
    if device.type != "cuda":
        return torch.default_generator
    return torch.cuda.default_generators[torch.cuda.current_device() if device.index is None else device.index]


def _default_device() -> torch.device:
    """As torch.get_default_device() has it, which makes a tensor to find out: out of sight, that is another."""
    stack = _get_current_function_mode_stack()  # type: ignore[no-untyped-call]
    modes = [mode for mode in stack if isinstance(mode, DeviceContext)]
    whole = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    chosen = modes[-1] if modes else whole
    return chosen.device if chosen is not None else torch.device("cpu")


def _length(loader: Any) -> int | None:
    try:
        return len(loader)
    except TypeError:  # a dataset without a length
        return None


def batch_tensors(batch: Any, limit: int = 8) -> list[tuple[str, torch.Tensor]]:
    if isinstance(batch, torch.Tensor):
        return [("batch", batch)]
    if isinstance(batch, Mapping):
        items = [(f"batch[{key!r}]", value) for key, value in batch.items()]
    elif isinstance(batch, (tuple, list)):
        items = [(f"batch[{index}]", value) for index, value in enumerate(batch)]
    else:
        return []
    return [(name, value) for name, value in items if isinstance(value, torch.Tensor)][:limit]


@torch.no_grad()
def describe_batch(name: str, tensor: torch.Tensor, step: int) -> BatchFact:
    numbers = tensor.detach().reshape(-1)[: 2**20].to(torch.float32)
    finite = torch.isfinite(numbers)
    wrong = int(numbers.numel() - finite.sum())
    kept = numbers[finite] if wrong else numbers
    low, high = (kept.min().item(), kept.max().item()) if kept.numel() else (0.0, 0.0)
    mean = kept.mean().item() if kept.numel() else 0.0
    std = kept.std(correction=0).item() if kept.numel() else 0.0
    dtype = str(tensor.dtype).removeprefix("torch.")
    return BatchFact(name, tuple(tensor.shape), dtype, low, high, mean, std, wrong, step)
