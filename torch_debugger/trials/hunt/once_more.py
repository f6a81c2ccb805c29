"""The user's lines of a step run once more under the hunter, up to what goes wrong in them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.records import Origin
from torch_debugger.trials.hunt.hunter import Hunter
from torch_debugger.trials.hunt.leaves import leaves_of
from torch_debugger.trials.hunt.model import Model, parameter_names
from torch_debugger.trials.hunt.states import FINITE, state_of


class _Reached(BaseException):
    """The lines have come to the point; no `except Exception` of the user's may catch it."""


class OnceMore:
    """One run of a step's lines: stand-ins for what they must not do again, and the hunter."""

    def __init__(self, models: Sequence[Model], *, batch: Any = None, again: bool, apart: bool) -> None:
        """
        again: the models are given what they were given in the step, whatever the lines say.
        apart: in the training's own process, whose gradients and loaders must not be touched.
        """
        names: dict[int, str] = {}
        paths: dict[int, str] = {}
        for model in models:
            names |= parameter_names(model.module, model.paths)
            paths |= model.paths
        self._models, self._batch = models, batch
        self._again, self._apart = again, apart
        self._hunter = Hunter(paths, names)
        self._found: Origin | None = None

    def run(self, lines: Callable[[], Any]) -> Origin | None:
        if not self._apart:
            for model in self._models:
                model.module.zero_grad()  # what the step itself has left there
        with contextlib.suppress(_Reached, Exception), torch.enable_grad(), self._stand_ins(), self._hunter:
            lines()
        return self._found

    @contextlib.contextmanager
    def _stand_ins(self) -> Iterator[None]:
        replaced: list[tuple[Any, str, Any]] = [
            (torch.autograd, "backward", self._backward),
            (_BaseDataLoaderIter, "__next__", lambda iterator: self._next_batch()),
            (DataLoader, "__iter__", lambda loader: iter((self._next_batch(),))),
        ]
        if self._apart:
            replaced += [(owner, "zero_grad", lambda *_, **__: None) for owner in (Optimizer, nn.Module)]
        before = [(owner, name, vars(owner)[name]) for owner, name, _ in replaced]
        handles = [register_optimizer_step_pre_hook(self._before_update), *map(self._prepare, self._models)]
        for owner, name, value in replaced:
            setattr(owner, name, value)
        try:
            yield
        finally:
            for owner, name, value in before:
                setattr(owner, name, value)
            for handle in handles:
                handle.remove()

    def _reach(self, origin: Origin | None) -> None:
        self._found = origin
        raise _Reached

    def _backward(self, tensors: Any, *arguments: Any, **keywords: Any) -> None:
        if any(state_of(tensor) != FINITE for tensor in tensors_in(tensors)):
            self._reach(self._hunter.origin_of(tensors) or self._hunter.origin_of(tensors, masks=True))
        if self._apart:
            gradients = arguments[0] if arguments else keywords.get("grad_tensors")
            self._hunter.backward_apart(tensors, gradients, leaves_of(tensors_in(tensors))[0])
        else:
            self._hunter.backward(tensors, *arguments, **keywords)
        if self._hunter.slope() is not None:
            self._reach(self._hunter.slope())

    def _before_update(self, optimizer: Optimizer, *_: Any) -> None:
        """The lines end here; the user's own code may have changed the gradients since the backward."""
        held = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        wrong = not self._apart and any(state_of(gradient) != FINITE for gradient in held)
        self._reach(self._hunter.origin_of(held) if wrong else None)

    def _next_batch(self) -> Any:
        """The workers of a loader belong to the training: whoever asks gets the step's batch once more."""
        return self._reach(None) if self._apart else self._batch

    def _prepare(self, model: Model) -> Any:
        """At its first call the model meets the random state, and maybe the inputs, that it had in the step."""
        waiting = [model]

        def before(module: nn.Module, arguments: Any, keywords: Any) -> Any:
            if not waiting or not torch.is_grad_enabled():
                return None
            waiting.clear()
            model.restore_randomness()
            return model.call if self._again else None

        return model.module.register_forward_pre_hook(before, with_kwargs=True, prepend=True)
