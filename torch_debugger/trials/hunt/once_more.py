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
from torch_debugger.trials.hunt.states import FINITE, state_of, word_for
from torch_debugger.trials.replaced import replaced


class _Reached(BaseException):
    """The lines have come to the point; no `except Exception` of the user's may catch it."""


class OnceMore:
    """One run of a step's lines: stand-ins for what they must not do again, and the hunter."""

    def __init__(
        self,
        models: Sequence[Model],
        *,
        batch: Any = None,
        again: bool = False,
        apart: bool = False,
        rng_state: torch.Tensor | None = None,
        loss: str = "",
        raised: bool = False,
    ) -> None:
        """
        again: the models are given what they were given in the step, whatever the lines say.
        apart: in the training's own process, whose gradients and loaders must not be touched.
        loss: what it was in the step, nan, inf or -inf; another one is another story.
        raised: they end in an exception, and the number is in the frames that raise it.
        rng_state: when the lines begin; without it, each model meets its own at its first call.
        """
        names: dict[int, str] = {}
        paths: dict[int, str] = {}
        for model in models:
            names |= parameter_names(model.module, model.paths)
            paths |= model.paths
        self._models, self._batch = models, batch
        self._again, self._apart, self._rng_state, self._loss = again, apart, rng_state, loss
        self._raised = raised
        self._hunter = Hunter(paths, names)
        self._found: Origin | None = None

    def run(self, lines: Callable[[], Any]) -> Origin | None:
        if not self._apart:
            for model in self._models:
                model.module.zero_grad()  # what the step itself has left there
        if self._rng_state is not None:
            torch.set_rng_state(self._rng_state)
        with contextlib.suppress(_Reached), torch.enable_grad(), self._stand_ins(), self._hunter:
            try:
                lines()
            except Exception as error:  # of the user's lines, which may refuse in any way they like
                self._found = self._behind(error) if self._raised else None
        return self._found

    def _behind(self, error: Exception) -> Origin | None:
        """Who made the numbers that are not finite in the frames of this exception, the innermost first."""
        traced: list[Origin] = []
        traceback = error.__traceback__
        while traceback is not None:
            origin = self._hunter.origin_of(list(traceback.tb_frame.f_locals.values()))
            traced = [origin, *traced] if origin is not None else traced
            traceback = traceback.tb_next
        return traced[0] if traced else None

    @contextlib.contextmanager
    def _stand_ins(self) -> Iterator[None]:
        entries: list[tuple[Any, str, Any]] = [
            (torch.autograd, "backward", self._backward),
            (_BaseDataLoaderIter, "__next__", lambda iterator: self._next_batch()),
            (DataLoader, "__iter__", lambda loader: iter((self._next_batch(),))),
        ]
        if self._apart:
            entries += [(owner, "zero_grad", lambda *_, **__: None) for owner in (Optimizer, nn.Module)]
        handles = [register_optimizer_step_pre_hook(self._before_update), *map(self._prepare, self._models)]
        try:
            with replaced(entries):
                yield
        finally:
            for handle in handles:
                handle.remove()

    def _reach(self, origin: Origin | None) -> None:
        self._found = origin
        raise _Reached

    def _backward(self, tensors: Any, *arguments: Any, **keywords: Any) -> None:
        bad = [word_for(each, state) for each in tensors_in(tensors) if (state := state_of(each)) != FINITE]
        if bad and self._loss not in ("", *bad):
            self._reach(None)
        if bad:
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
            if self._rng_state is None:
                model.restore_randomness(first=True)
            return model.call if self._again else None

        return model.module.register_forward_pre_hook(before, with_kwargs=True, prepend=True)
