"""Copies of trained models: do they follow the model, and do gradients reach them?

They are looked for in the user's variables on the first deep steps, before the update. Later looks compare a
few numbers of each, about fifty times a thousand steps; on the CPU only, where that makes nobody wait.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass

import torch
from torch import nn
from torch.optim import Optimizer

from torch_debugger.anatomy.copies import copied_siblings, copies_of, maker_of
from torch_debugger.anatomy.frames import place_of, user_frame
from torch_debugger.anatomy.method_calls import calls_of
from torch_debugger.anatomy.repetition import can_repeat
from torch_debugger.anatomy.walks import Walk, walks_of
from torch_debugger.probes.held import Held
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.roots import Roots
from torch_debugger.probes.watch import Probe, Watch
from torch_debugger.records import CopyLook, Place


@dataclass
class _Copy:
    name: str
    of: str
    copy: weakref.ref[nn.Module]
    model: weakref.ref[nn.Module]
    held: weakref.ref[Held]  # of the model's optimizer; it holds a parameter
    first_steps: int
    first: list[float]
    first_model: list[float]
    update: Place
    made: Place
    loads: tuple[Place, ...]
    walks: list[Walk]
    gradient: bool = False
    moved: bool = False
    changed: bool = False


class Copies(Probe):
    name = "copies"
    deep_only = True  # until there is a copy
    SEARCHES = 3  # deep steps
    LIMIT = 4
    FIRST = 6  # the step of the first look that is no deep step's

    def __init__(self, watch: Watch, roots: Roots, optimizers: Optimizers) -> None:
        super().__init__(watch)
        self.roots = roots
        self.optimizers = optimizers
        self._known: list[_Copy] = []
        self._searches = 0
        self._next = self.FIRST
        optimizers.before_update.append(self._before_update)

    def remove(self) -> None:
        self._tell_all()
        self._known = []

    def _before_update(self, held: Held, optimizer: Optimizer) -> None:
        """Told on deep steps."""
        if self._searches < self.SEARCHES:
            self._searches += 1
            self._search(held, optimizer)
        for known in self._known:
            copy = known.copy()
            known.gradient = known.gradient or (copy is not None and _has_gradient(copy))

    def _search(self, held: Held, optimizer: Optimizer) -> None:
        own = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
        frame = user_frame(2)
        for root, model in self.roots.alive():
            if not root.trained or not any(id(parameter) in own for parameter in model.parameters()):
                continue
            for name, copy in copies_of(model, frame):
                self._keep(name, copy, root.name, model, held, place_of(frame))
            for name, copy, of, part in copied_siblings(model, own):
                if _some_numbers(copy) == _some_numbers(part):
                    self._keep(name, copy, f"{root.name}.{of}", part, held, place_of(frame))

    def _keep(self, name: str, copy: nn.Module, of: str, model: nn.Module, held: Held, update: Place) -> None:
        first, first_model = _some_numbers(copy), _some_numbers(model)
        known = any(each.copy() is copy for each in self._known) or len(self._known) >= self.LIMIT
        if known or first is None or first_model is None:
            return
        if not self._known:
            self.watch.tell_of_light_steps(self)
        walks = walks_of(update.file, name.rpartition(".")[2])
        self._known.append(
            _Copy(
                name,
                of,
                weakref.ref(copy),
                weakref.ref(model),
                weakref.ref(held),
                held.steps,
                first,
                first_model,
                update,
                maker_of(name, update.file),
                tuple(filter(can_repeat, _calls(update, "load_state_dict", name))),
                walks,
            )
        )

    def end_step(self) -> None:
        step = self.watch.step
        if self._known and step >= self._next:
            self._next = step + max(1, step // 20)
            self._tell_all()

    def _tell_all(self) -> None:
        for known in self._known:
            copy, model, held = known.copy(), known.model(), known.held()
            if copy is not None and model is not None and held is not None:
                known.changed = known.changed or _some_numbers(copy) != known.first
                known.moved = known.moved or _some_numbers(model) != known.first_model
                self._tell(known, copy, held.steps - known.first_steps)

    def _tell(self, known: _Copy, copy: nn.Module, updates: int) -> None:
        held = self.optimizers.parameter_ids()
        self.watch.emit(
            CopyLook(
                self.watch.step,
                known.name,
                known.of,
                type(copy).__name__,
                updates,
                known.first == known.first_model and known.first_steps == 0,
                known.moved,
                known.changed,
                known.gradient,
                any(id(parameter) in held for parameter in copy.parameters()),
                known.made,
                known.loads,
                tuple(walk.place for walk in known.walks),
                known.update,
                calls=_calls(known.update, known.name, None),
                idle=next((walk.idle for walk in known.walks if walk.idle), Place()),
                sometimes=any(walk.sometimes for walk in known.walks if not walk.idle),
                uncalled=next((walk.uncalled for walk in known.walks if walk.uncalled), Place()),
            )
        )


def _calls(place: Place, method: str, owner: str | None) -> tuple[Place, ...]:
    """Of target.load_state_dict(...); with no owner, of self.target(...) itself."""
    calls = calls_of(place.file, method.rpartition(".")[2])
    return tuple(call for each, call in calls if owner is None or each == owner.rpartition(".")[2])


@torch.no_grad()
def _some_numbers(module: nn.Module) -> list[float] | None:
    """The first elements of the first and the last parameter; None on an accelerator."""
    parameters = list(module.parameters())
    ends = [parameters[0], parameters[-1]]
    if any(parameter.device.type != "cpu" for parameter in ends):
        return None
    return [number for parameter in ends for number in parameter.detach().reshape(-1)[:8].tolist()]


def _has_gradient(module: nn.Module) -> bool:
    gradients = [parameter.grad for parameter in module.parameters() if parameter.grad is not None]
    return any(bool(gradient.count_nonzero()) for gradient in gradients[:4] if gradient.device.type == "cpu")
