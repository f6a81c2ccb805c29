"""What each call of a model ran, module by module: shapes and times, while somebody wants to know."""

from __future__ import annotations

from typing import Any

from torch import nn

from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.probes.watch import Watch
from torch_debugger.records import FlowFact, FlowStep

Rows = list[FlowStep | None]  # callers before what they call; None: still running


class Flow:
    MODULES = 512  # kept of one call
    CALLS = 16  # told of a root whatever they say, then only calls with other shapes
    OTHER_CALLS = 256  # sequences of all lengths must not fill the log

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.wanted = 0  # how many debuggers ask
        self._told: dict[str, tuple[int, int]] = {}  # root -> calls told, what the last one looked like

    def want(self) -> None:
        self.wanted += 1
        self._told = {}

    def leave(self) -> None:
        self.wanted -= 1

    def is_curious(self, root: str) -> bool:
        """Whether the next call of this root is told in any case."""
        return self.wanted > 0 and self._told.get(root, (0, 0))[0] < self.CALLS

    def reserve(self, rows: Rows) -> int | None:
        """A place for a module that begins; None when enough are kept."""
        if not self.wanted or len(rows) >= self.MODULES:
            return None
        rows.append(None)
        return len(rows) - 1

    def tell(self, root: str, rows: Rows, modules: int) -> None:
        """The outermost call has ended, having run this many modules."""
        steps = tuple(step for step in rows if step is not None)
        looks = hash(tuple((step.path, step.given, step.made, step.failed) for step in steps))
        count, last = self._told.get(root, (0, 0))
        if count < self.CALLS or (looks != last and count < self.OTHER_CALLS):
            self._told[root] = (count + 1, looks)
            self.watch.emit(FlowFact(root, steps, self.watch.step, modules - len(steps)))


def flow_step(
    path: str, module: nn.Module, given: Any, made: Any, time_s: float, depth: int, failed: bool
) -> FlowStep:
    return FlowStep(
        path=path,
        kind=getattr(module, "original_name", None) or type(module).__name__,  # of a scripted module: its class
        given=_shapes(given),
        made=_shapes(made),
        time_s=time_s,
        depth=depth,
        made_bytes=sum(tensor.numel() * tensor.element_size() for tensor in tensors_in(made)),
        parameters=sum(p.numel() for p in module.parameters() if not nn.parameter.is_lazy(p)),
        failed=failed,
    )


def _shapes(value: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(tensor.shape) for tensor in tensors_in(value))
