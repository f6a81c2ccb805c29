"""Which samples a batch was made of, as far as the sampler's order can still be read."""

from __future__ import annotations

from collections.abc import Sequence
from types import GeneratorType
from typing import Any

from torch.utils.data import BatchSampler, SequentialSampler

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.probes.crash_frames import Seen
from torch_debugger.probes.examiners.scene import Scene


def failed_batch(scene: Scene, iterator: Any) -> int | None:
    """The number of the batch whose error was handed on; it has been counted as received by then."""
    seen = scene.frame_of("_next_data", "dataloader.py")
    if getattr(iterator, "_num_workers", 0) == 0:
        return getattr(iterator, "_num_yielded", None)
    if seen is not None and not getattr(iterator, "_in_order", True):
        return _number(seen, "idx")
    received = getattr(iterator, "_rcvd_idx", None)
    return received - 1 if type(received) is int and received else None


def _number(seen: Seen, name: str) -> int | None:
    held = seen.frame.f_locals.get(name)
    return held if type(held) is int else None


def batch_indices(iterator: Any, batch: int | None) -> tuple[int, ...]:
    """Nothing where a random order is spent: then it is kept nowhere."""
    sampler = getattr(iterator, "_index_sampler", None)
    if batch is None or sampler is None:
        return ()
    if type(sampler) is list:
        return _whole(sampler[batch]) if batch < len(sampler) else ()
    size = sampler.batch_size if type(sampler) is BatchSampler else 1
    order = _order(sampler.sampler if type(sampler) is BatchSampler else sampler, iterator)
    return _whole(order[batch * size : (batch + 1) * size])


def _order(sampler: Any, iterator: Any) -> Sequence[Any]:
    if type(sampler) is SequentialSampler:
        return range(len(sampler))
    running = getattr(iterator, "_sampler_iter", None)
    frame = running.gi_frame if is_a(running, GeneratorType) else None
    single = frame.f_locals.get("sampler_iter", running) if frame is not None else None
    source = single.gi_yieldfrom if is_a(single, GeneratorType) else None
    # A list's iterator tells the list it goes through, and goes on from where it is.
    return source.__reduce__()[1][0] if type(source) is type(iter([])) else ()


def _whole(indices: Any) -> tuple[int, ...]:
    listed = list(indices) if is_a(indices, (list, tuple, range)) else [indices]
    return tuple(listed) if all(type(index) is int for index in listed) else ()
