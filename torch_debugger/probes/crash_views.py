"""Views that made other rows of a batch: read back from the autograd graph of what a loss was given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from torch_debugger.probes.crash_frames import Seen, is_tensor
from torch_debugger.records import FlowStep

_VIEWS = ("ViewBackward0", "UnsafeViewBackward0", "ReshapeAliasBackward0")
_NODE_LIMIT = 300


def views_before(frames: Sequence[Seen]) -> list[FlowStep]:
    """The views that changed the first dimension on the way to the loss's input, the earliest first."""
    given: Any = frames[-1].frame.f_locals.get("input") if frames and not frames[-1].user else None
    steps = _changed_rows(given.grad_fn) if is_tensor(given) else ()
    return [FlowStep("view", "view", (before,), (after,)) for before, after in steps][::-1]


def _changed_rows(start: Any) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    waiting: list[Any] = [start]
    seen: set[Any] = set()
    while waiting and len(seen) < _NODE_LIMIT:
        node = waiting.pop(0)
        if node is None or node in seen:
            continue
        seen.add(node)
        waiting += [following for following, _ in node.next_functions]
        if node.name() in _VIEWS:
            before = tuple(int(size) for size in node._saved_self_sym_sizes)
            after = tuple(int(size) for size in node._input_metadata[0].shape)
            if before and after and before[0] != after[0]:
                yield before, after
