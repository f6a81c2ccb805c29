"""The user's own lines of a step as a function: from the call of a model to its loss, with other inputs."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from torch_debugger.anatomy.frames import locals_of
from torch_debugger.trials.hunt.lines import ONCE_MORE
from torch_debugger.trials.preflight.case import Call, NotPossibleError
from torch_debugger.trials.replaced import replaced


class _Reached(BaseException):
    """The lines have come to backward(); no `except Exception` of the user's may catch it."""


@dataclass
class Passage:
    """One run of the lines."""

    loss: torch.Tensor | None = None
    called: list[nn.Module] = field(default_factory=list)  # the models that were, with gradients on
    outputs: list[Any] = field(default_factory=list)  # of each of these calls
    variables: dict[str, Any] = field(default_factory=dict)  # of the loop, as backward() left them


class StepLines:
    def __init__(self, lines: Callable[[], Any], models: Sequence[nn.Module], batch: Any) -> None:
        self._lines = lines
        self._models = models
        self._batch = batch  # the last one that a loader gave

    def loss(self, call: Call | None) -> torch.Tensor:
        found = self.run(call).loss
        assert found is not None
        return found

    def run(self, call: Call | None, backward: Callable[[torch.Tensor], None] | None = None) -> Passage:
        """Up to backward(), which is not made unless by `backward`, while all the variables are alive.

        `call`: what the first model gets, whatever the lines say.
        """
        passage = Passage()
        stand_ins = self._stand_ins(passage, backward)
        with contextlib.suppress(_Reached), torch.enable_grad(), stand_ins, self._heard(passage, call):
            self._lines()
        if passage.loss is None:
            raise NotPossibleError("The lines of the step do not come to backward() when they are run again.")
        return passage

    def _stand_ins(
        self, passage: Passage, backward: Callable[[torch.Tensor], None] | None
    ) -> contextlib.AbstractContextManager[None]:
        original = torch.autograd.backward

        def reach(tensors: Any, *arguments: Any, **keywords: Any) -> None:
            passage.loss = tensors[0] if isinstance(tensors, (tuple, list)) else tensors
            if backward is not None:
                passage.outputs.clear()  # they live as long as the user's variables let them
                with replaced([(torch.autograd, "backward", original)]):
                    backward(passage.loss)
                passage.variables = _loop_variables()
            raise _Reached

        def leave(*arguments: Any, **keywords: Any) -> None:
            """Not made here: the trial clears gradients and steps itself."""

        entries: list[tuple[Any, str, Any]] = [
            (torch.autograd, "backward", reach),
            (torch.amp.GradScaler, "scale", lambda scaler, outputs: outputs),
            (_BaseDataLoaderIter, "__next__", lambda iterator: self._batch),
            (DataLoader, "__iter__", lambda loader: iter((self._batch,))),
        ]
        entries += [(owner, "zero_grad", leave) for owner in (Optimizer, nn.Module)]
        return replaced(entries)

    @contextlib.contextmanager
    def _heard(self, passage: Passage, call: Call | None) -> Iterator[None]:
        def before(module: nn.Module, arguments: Any, keywords: Any) -> Any:
            if not torch.is_grad_enabled():
                return None
            passage.called.append(module)
            return call if len(passage.called) == 1 else None

        def after(module: nn.Module, arguments: Any, output: Any) -> None:
            if torch.is_grad_enabled():
                passage.outputs.append(output)

        handles = [each.register_forward_pre_hook(before, with_kwargs=True) for each in self._models]
        handles += [each.register_forward_hook(after) for each in self._models]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


def _loop_variables() -> dict[str, Any]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != ONCE_MORE:
        frame = frame.f_back
    return locals_of(frame) if frame is not None else {}
