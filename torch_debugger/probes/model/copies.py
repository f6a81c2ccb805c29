"""Copies of trained models: do they follow the model, and do gradients reach them?

They are looked for in the user's variables on the first deep steps, before the update. Later looks compare a
few numbers of each, about fifty times a thousand steps; from a device they come later.
"""

from __future__ import annotations

import dataclasses
import functools
import weakref
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.optim import Optimizer

from torch_debugger.probes.model.root_modules import RootModules
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.optimizers_known import TrackedOptimizer
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.watch import Watch
from torch_debugger.records import CopyLook, Place
from torch_debugger.source.attributes import assignments
from torch_debugger.source.calls import calls_of
from torch_debugger.source.files import place_at, tree_of
from torch_debugger.source.frames import place_of, user_frame
from torch_debugger.source.model_copies import Walk, copied_siblings, copies_of, maker_of, walks_of
from torch_debugger.source.statements import can_repeat
from torch_debugger.source.syntax import dotted
from torch_debugger.stats.dispatch_modes import no_grad
from torch_debugger.stats.transfer import Numbers

Pair = tuple[list[float], ...]


@dataclass
class _Copy:
    name: str
    of: str
    copy: weakref.ref[nn.Module]
    model: weakref.ref[nn.Module]
    held: weakref.ref[TrackedOptimizer]  # of the model's optimizer; it holds a parameter
    first_steps: int
    update: Place
    made: Place
    loads: tuple[Place, ...]
    walks: list[Walk]
    alike: bool  # it counts as a copy only if it begins with the model's numbers
    first: Pair = field(default_factory=tuple)  # numbers of the copy and of the model; empty until they come
    gradient: bool = False
    moved: bool = False
    changed: bool = False

    @property
    def began_alike(self) -> bool:
        return bool(self.first) and self.first[0] == self.first[1]


class Copies(Probe):
    name = "copies"
    deep_only = True  # until there is a copy
    SEARCHES = 3  # deep steps
    LIMIT = 4
    FIRST = 6  # the step of the first look that is no deep step's

    def __init__(self, watch: Watch, roots: RootModules, optimizers: Optimizers) -> None:
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

    def _before_update(self, tracked: TrackedOptimizer, optimizer: Optimizer) -> None:
        """Told on deep steps."""
        if self._searches < self.SEARCHES:
            self._searches += 1
            self._search(tracked, optimizer)
        for known in self._known:
            copy = known.copy() if not known.gradient else None
            gradients = [p.grad for p in copy.parameters() if p.grad is not None][:4] if copy is not None else []
            counts = [gradient.count_nonzero() for gradient in gradients if gradient.layout is torch.strided]
            if counts:
                self.watch.transfer.send(torch.stack(counts), functools.partial(_note_gradient, known))

    def _search(self, tracked: TrackedOptimizer, optimizer: Optimizer) -> None:
        own = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
        frame = user_frame(2)
        for root, model in self.roots.alive():
            if not root.trained or not any(id(parameter) in own for parameter in model.parameters()):
                continue
            for name, copy in copies_of(model, frame):
                self._keep(name, copy, root.name, model, tracked, place_of(frame), alike=False)
            for name, copy, of, part in copied_siblings(model, own):
                self._keep(name, copy, f"{root.name}.{of}", part, tracked, place_of(frame), alike=True)

    def _keep(
        self,
        name: str,
        copy: nn.Module,
        of: str,
        model: nn.Module,
        tracked: TrackedOptimizer,
        update: Place,
        *,
        alike: bool,
    ) -> None:
        if any(each.copy() is copy for each in self._known) or len(self._known) >= self.LIMIT:
            return
        if _device(copy) != _device(model) or _device(model).type == "meta":
            return
        if not self._known:
            self.watch.tell_of_light_steps(self)
        walks = walks_of(update.file, name.rpartition(".")[2])
        known = _Copy(
            name,
            of,
            weakref.ref(copy),
            weakref.ref(model),
            weakref.ref(tracked),
            tracked.steps,
            update,
            maker_of(name, update.file),
            tuple(filter(can_repeat, _calls(update, "load_state_dict", name))),
            walks,
            alike,
        )
        self._known.append(known)
        self.watch.transfer.send(_numbers_of(copy, model), functools.partial(self._begin, known))

    def _begin(self, known: _Copy, numbers: Numbers) -> None:
        known.first = _pair(numbers)
        if known.alike and not known.began_alike:
            self._known.remove(known)

    def end_step(self) -> None:
        step = self.watch.step
        if self._known and step >= self._next:
            self._next = step + max(1, step // 20)
            self._tell_all()

    def _tell_all(self) -> None:
        for known in self._known:
            copy, model, tracked = known.copy(), known.model(), known.held()
            if copy is None or model is None or tracked is None or _device(copy) != _device(model):
                continue
            ids = self.optimizers.parameter_ids()
            look = CopyLook(  # what can be told before the numbers are there
                self.watch.step,
                known.name,
                known.of,
                type(copy).__name__,
                tracked.steps - known.first_steps,
                False,
                False,
                False,
                False,
                any(id(parameter) in ids for parameter in copy.parameters()),
                known.made,
                known.loads,
                tuple(walk.place for walk in known.walks),
                known.update,
                calls=_calls(known.update, known.name, None),
                idle=next((walk.idle for walk in known.walks if walk.idle), Place()),
                sometimes=any(walk.sometimes for walk in known.walks if not walk.idle),
                uncalled=next((walk.uncalled for walk in known.walks if walk.uncalled), Place()),
            )
            self.watch.transfer.send(_numbers_of(copy, model), functools.partial(self._tell, known, look))

    def _tell(self, known: _Copy, look: CopyLook, numbers: Numbers) -> None:
        if not known.first or (known.alike and not known.began_alike):
            return
        copy, model = _pair(numbers)
        known.changed = known.changed or copy != known.first[0]
        known.moved = known.moved or model != known.first[1]
        look = dataclasses.replace(look, moved=known.moved, changed=known.changed, gradient=known.gradient)
        began = known.began_alike and known.first_steps == 0
        self.watch.emit(dataclasses.replace(look, began_equal=began))


def _calls(place: Place, method: str, owner: str | None) -> tuple[Place, ...]:
    """Of target.load_state_dict(...); with no owner, of self.target(...) itself."""
    calls = calls_of(place.file, method.rpartition(".")[2])
    return tuple(call for each, call in calls if owner is None or each == owner.rpartition(".")[2])


@no_grad()
def _numbers_of(copy: nn.Module, model: nn.Module) -> torch.Tensor:
    """[2, n]: the first elements of the first and of the last parameter of each."""
    rows = []
    for module in (copy, model):
        parameters = list(module.parameters())
        ends, device = (parameters[0], parameters[-1]), parameters[0].device
        rows.append(torch.cat([each.detach().reshape(-1)[:8].float().to(device) for each in ends]))
    return torch.stack(rows)


def _device(module: nn.Module) -> torch.device:
    return next(module.parameters()).device


def _pair(numbers: Numbers) -> Pair:
    copy, model = numbers.tolist()
    return copy, model


def _note_gradient(known: _Copy, counts: Numbers) -> None:
    known.gradient = known.gradient or bool(counts.any())


# A trained model that no optimizer holds, but whose parameters look like those one does hold.
@dataclass(frozen=True)
class LookalikeModel:
    name: str
    place: Place  # the line that makes it, after the optimizer was made


def find_lookalike(optimizer: Optimizer, optimizers: Optimizers, made: Place) -> LookalikeModel | None:
    """The optimizer was made for a model of these very shapes; this is the one that is trained instead."""
    own = [tuple(p.shape) for group in optimizer.param_groups for p in group["params"]]
    ids = optimizers.parameter_ids()
    for root, module in optimizers.looks.roots.alive():
        parameters = list(module.parameters())
        is_trained = root.trained or (root.compiled and any(p.grad is not None for p in parameters))
        if not is_trained or any(id(p) in ids for p in parameters):
            continue
        if [tuple(p.shape) for p in parameters if not nn.parameter.is_lazy(p)] == own:
            # The last line below the optimizer's that assigns the model: net = ..., self.net = ...
            tree, targets = tree_of(made.file) if made.file else None, (root.name, f"self.{root.name}")
            lines = [
                node.lineno
                for node, _ in (assignments(tree) if tree is not None else ())
                if made.line is not None and node.lineno > made.line
                if any(dotted(target) in targets for target in node.targets)
            ]
            place = place_at(made.file, max(lines)) if made.file and lines else Place()
            return LookalikeModel(root.name, place)
    return None
