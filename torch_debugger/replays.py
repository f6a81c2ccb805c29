"""Steps run again: what the probes keep of a step, handed to the trials that find the op at fault.

Those trials are imported where a step has gone wrong, and not before: healthy runs need no memory for them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from torch_debugger.anatomy.alone import has_fellows
from torch_debugger.anatomy.forked import can_differentiate_in_fork, has_other_kernels, in_fork
from torch_debugger.anatomy.moments import Moment
from torch_debugger.probes.lagging import Inputs, Lagging
from torch_debugger.probes.loaders import Loaders
from torch_debugger.probes.roots import Roots
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Origin
from torch_debugger.stats.shards import shards_expected

if TYPE_CHECKING:
    from torch_debugger.trials.hunt.model import Model


class StepReplays:
    """Probes run with torch functions switched off; a replay lives by them."""

    def __init__(self, watch: Watch, roots: Roots, loaders: Loaders, lagging: Lagging) -> None:
        self.watch = watch
        self.roots = roots
        self.loaders = loaders
        self.lagging = lagging

    def of_step(
        self, moments: Sequence[Moment], loss: str, raised: bool = False
    ) -> tuple[Origin | None, str] | None:
        """The step under way: its own lines in a fork, or where there is none, its models right here."""
        from torch_debugger.trials.hunt.model import Model
        from torch_debugger.trials.hunt.step import Scene, can_fork, find_in_step

        if in_fork() or shards_expected():
            return None
        models = [
            Model(
                module,
                root.paths,
                root.call,
                root.rng_state,
                root.device_rng,
                root.first_rng,
                root.first_device_rng,
            )
            for root, module in self.roots.alive()
        ]
        with self._for_a_replay():
            if can_fork(models):
                batch, dataset = self.loaders.last.get()
                scene = Scene(moments, models, not loss, batch, dataset, self.roots.step_rng, loss, raised)
                found = find_in_step(scene)
                if found:
                    return found.origin, found.how
                # The last bit decides whether an acos is asked at 1, and the fork's may be another.
                said_all = not has_other_kernels() and (bool(loss) or can_differentiate_in_fork())
                return (None if said_all else _find_here(moments[:1], models, not loss)) or (None, "step")
            return _find_here(moments[:1], models, not loss)

    def of_call(
        self, module: nn.Module, paths: dict[int, str], given: tuple[tuple[Any, ...], dict[str, Any]]
    ) -> tuple[Origin | None, str]:
        """One call of a model that nobody trains: in a fork, or where there is none right here."""
        from torch_debugger.trials.hunt.model import Model
        from torch_debugger.trials.hunt.step import Scene, can_fork, find_in_step

        if in_fork() or shards_expected():
            return None, ""
        models = [Model(module, paths, given)]
        with self._for_a_replay():
            if can_fork(models):
                found = find_in_step(Scene((), models, slopes=False))
                if found or not has_other_kernels():
                    return (found.origin, found.how) if found else (None, "model")
            return _find_here((), models, False) or (None, "model")

    @contextlib.contextmanager
    def _for_a_replay(self) -> Iterator[None]:
        """What runs in it is not the training's, is seen by a hunter, and is not compiled."""
        eager = torch.compiler.set_stance("force_eager")
        with self.watch.asleep(), torch._C._EnableTorchFunction(), eager:
            yield

    def of_inputs(self, inputs: Inputs, slopes: bool) -> tuple[Origin, str] | None:
        """A step of some time ago, on the weights that were frozen with the first number not finite."""
        from torch_debugger.trials.hunt.model import Model

        models = [
            Model(module, root.paths, *inputs.calls[root.name])
            for root, module in self.roots.alive()
            if root.name in inputs.calls
        ]
        with self._for_a_replay(), self.lagging.weights.in_place() as kept:
            return _find_here(inputs.moments, models, slopes) if kept else None


def _find_here(moments: Sequence[Moment], models: Sequence[Model], slopes: bool) -> tuple[Origin, str] | None:
    if has_fellows():  # in a fork they are left alone, but not here
        return None
    from torch_debugger.trials.hunt.model import find_in_model
    from torch_debugger.trials.hunt.step import find_in_lines

    for moment in moments:
        for again in (False, True):
            origin = find_in_lines(moment, models, again=again)
            if origin is not None:
                return origin, "step"
    for model in models:
        with contextlib.suppress(Exception):  # the user's code, run again, may refuse in any way it likes
            origin = find_in_model(model, slopes=slopes)
            if origin is not None:
                return origin, "model"
    return None
