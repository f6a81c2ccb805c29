"""Parameters that an optimizer has trained, and in whose place the module holds another object.

Only the module's own count: torch.func.functional_call puts others in their place for the time of one call.
"""

from __future__ import annotations

import weakref
from collections import Counter
from dataclasses import dataclass, field
from types import FrameType

import torch
from torch import nn

from torch_debugger.anatomy.parameter_lines import parameter_line
from torch_debugger.anatomy.sources import user_files
from torch_debugger.probes.model_forwards import ModelForward
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.watch import Watch
from torch_debugger.records import ReplacedParameter


@dataclass
class _Known:
    """The parameters of one module, by name."""

    module: weakref.ref[nn.Module]
    at_start: dict[str, int] = field(default_factory=dict)  # of this step: the ids of what it held
    at_look: dict[str, int] = field(default_factory=dict)  # at the last look
    trained: set[str] = field(default_factory=set)  # an optimizer held it, and a loss was computed with it
    in_step: set[str] = field(default_factory=set)  # replaced between forward and backward
    looks: Counter[str] = field(default_factory=Counter)  # at which it was another object


class ReplacedParameters:
    MOST_MODELS = 64
    MOST_TOLD = 4  # of one name

    def __init__(self, watch: Watch, optimizers: Optimizers) -> None:
        self.watch = watch
        self.optimizers = optimizers
        self._known: dict[int, _Known] = {}  # by module: a copy of a model has the same names

    def begin_step(self) -> None:
        for known in list(self._known.values()):
            module = known.module()
            known.at_start = {name: id(p) for name, p in module.named_parameters()} if module else {}

    def look_at(self, forward: ModelForward, leaves: dict[int, torch.Tensor], frame: FrameType | None) -> None:
        """Before a backward that reaches this forward."""
        module = forward.module()
        known = self._of(module) if module is not None else None
        if module is None or known is None:
            return
        held = self.optimizers.parameter_ids()
        used = dict(zip(forward.names, forward.parameters, strict=True))
        for name, parameter in module.named_parameters():
            key, then = id(parameter), used.get(name, 0)
            before, known.at_look[name] = known.at_look.get(name), key
            if then in held and then in leaves:
                known.trained.add(name)
            if name not in known.trained or key in held or not parameter.requires_grad:
                continue
            if then in leaves and then != key and then == known.at_start.get(name):
                known.in_step.add(name)
                self._tell(forward, name, parameter, frame, in_step=True)
            elif key in leaves and before not in (None, key) and name not in known.in_step:
                self._tell(forward, name, parameter, frame, in_step=False)

    def _of(self, module: nn.Module) -> _Known | None:
        known = self._known.get(id(module))
        if known is not None and known.module() is module:
            return known
        if len(self._known) >= self.MOST_MODELS:
            self._known = {key: each for key, each in self._known.items() if each.module() is not None}
        if len(self._known) >= self.MOST_MODELS:
            return None
        self._known[id(module)] = _Known(weakref.ref(module))
        return self._known[id(module)]

    def _tell(
        self, forward: ModelForward, name: str, now: nn.Parameter, frame: FrameType | None, *, in_step: bool
    ) -> None:
        module = forward.module()
        known = self._of(module) if module is not None else None
        if module is None or known is None:
            return
        known.looks[name] += 1
        place = parameter_line(name, module, user_files(), frame)
        if known.looks[name] > self.MOST_TOLD or not place:  # without a line it may be a library's business
            return
        self.watch.emit(
            ReplacedParameter(
                root=forward.root,
                name=f"{forward.root}.{name}",
                elements=now.numel(),
                in_step=in_step,
                looks=known.looks[name],
                place=place,
                step=self.watch.step,
            )
        )
