"""Frozen layers whose weights are still what their initialization drew: seen at the first loss, and once more.

A part may be frozen for one phase of a step, as the discriminator is while the generator learns, and a target
network follows another one without any gradient. So it is told only of what is frozen at every look of some
steps, and whose values have not changed by then.
"""

from __future__ import annotations

import ast
import difflib
import functools
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import nn

from torch_debugger.model.layers import Draw, initial_draws
from torch_debugger.probes.loss_backward import Backward
from torch_debugger.probes.model.root_modules import RootModule, RootModules
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.schedule import DEEP
from torch_debugger.probes.watch import Watch
from torch_debugger.records import FrozenAtRandom, GradientFlag, Place, UnmatchedSwitch
from torch_debugger.source.attributes import assignments, registrations
from torch_debugger.source.files import class_source, is_user_file, nodes_of, place_at, tree_of, user_files
from torch_debugger.source.model_copies import copied_siblings
from torch_debugger.source.parameters import NameTest, bare_comparisons, freezes, may_unfreeze, name_tests
from torch_debugger.source.syntax import called_method
from torch_debugger.stats.dispatch_modes import no_grad
from torch_debugger.stats.summary import measurable, sampled

_LOADERS = frozenset({"load_state_dict", "from_pretrained", "load_from_checkpoint", "load_checkpoint"})


@dataclass(frozen=True)
class _WatchedLayer:
    path: str
    weight: int  # its id
    elements: int
    draws: tuple[Draw, ...]


@dataclass
class _Candidate:
    """The frozen layers of a model as they were at the first loss."""

    layers: list[_WatchedLayer]
    elements: int  # of the whole model
    step: int
    samples: list[torch.Tensor]
    rows: list[list[float]]  # their numbers, once they have come


class FrozenLayers:
    SMALLEST = 512  # values: of fewer, no distribution can be told
    MOST = 16  # layers looked at of one model, the largest
    SAMPLE = 4096  # values of each, to see whether they change
    WAIT = 4  # steps
    WAIT_FOR_PHASES = 100  # where some line switches gradients on

    def __init__(self, watch: Watch, backward: Backward) -> None:
        self.watch = watch
        self.roots = backward.roots
        self._looked: dict[str, _Candidate | None] = {}  # by root
        backward.on_look.append(self.look)

    def look(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        for root, module in self.roots.alive():
            if root.trained and root.name not in self._looked:
                self._looked[root.name] = self._look_at(root, module)
            elif root.trained and (candidate := self._looked[root.name]) is not None:
                self._looked[root.name] = self._look_again(root, module, candidate)

    @no_grad()
    def _look_at(self, root: RootModule, module: nn.Module) -> _Candidate | None:
        if not any(p.requires_grad for p in module.parameters()):
            return None  # a teacher, a target network
        found = sorted(_frozen(module, root.name), key=lambda each: -each[1].numel())[: self.MOST]
        if sum(weight.numel() for _, weight, _ in found) < self.SMALLEST or _is_made_frozen(module, found):
            return None
        layers = [_WatchedLayer(path, id(w), w.numel(), initial_draws(owner, w)) for path, w, owner in found]
        total = sum(p.numel() for p in module.parameters())
        samples = [sampled(weight, self.SAMPLE).clone() for _, weight, _ in found]
        candidate = _Candidate(layers, total, self.watch.step, samples, [])
        originals = _originals(module)
        numbers = torch.stack([_numbers(w, originals.get(id(w))).to(found[0][1].device) for _, w, _ in found])
        self.watch.transfer.send(numbers, lambda rows: candidate.rows.extend(rows.tolist()))
        return candidate

    @no_grad()
    def _look_again(self, root: RootModule, module: nn.Module, candidate: _Candidate) -> _Candidate | None:
        frozen = {id(weight): weight for _, weight, _ in _frozen(module, root.name)}
        weights = [frozen.get(layer.weight) for layer in candidate.layers]
        now = [weight for weight in weights if weight is not None]
        if len(now) < len(weights):
            return None  # trained in another phase, or replaced
        age = self.watch.step - candidate.step
        if age < self.WAIT or (age < self.WAIT_FOR_PHASES and _line(may_unfreeze)):
            return candidate
        pairs = zip(now, candidate.samples, strict=True)
        changed = [(sampled(weight, self.SAMPLE) != before).any() for weight, before in pairs]
        self.watch.transfer.send(
            torch.stack([each.float().to(now[0].device) for each in changed]),
            lambda changes: None if any(changes.tolist()) else self._tell(root.name, candidate),
        )
        return None

    def _tell(self, root: str, candidate: _Candidate) -> None:
        layers, rows = candidate.layers, candidate.rows
        fitting: list[Draw] = []
        for layer, (*numbers, is_own) in zip(layers, rows, strict=True):
            draws = [draw for draw in layer.draws if is_own and draw.fits(min(layer.elements, 2**16), *numbers)]
            if not draws:
                return  # somebody has loaded or trained them
            fitting.append(draws[0])
        depth = root.count(".") + 2  # net.backbone for net.backbone.0 and net.backbone.2
        self.watch.emit(
            FrozenAtRandom(
                root=root,
                parts=tuple(sorted({".".join(layer.path.split(".")[:depth]) for layer in layers})),
                elements=sum(layer.elements for layer in layers),
                of=candidate.elements,
                layers=len(layers),
                drawn=fitting[0].text,
                spread=rows[0][1],
                expected=fitting[0].spread,
                place=_line(freezes),
                loading=_line(lambda node: called_method(node) in _LOADERS),
                step=candidate.step,
            )
        )


def _frozen(module: nn.Module, root: str) -> Iterator[tuple[str, nn.Parameter, nn.Module]]:
    """(path, weight, layer); not those beside which trained weights stand, as adapters do."""
    for path, child in module.named_modules():
        own = list(child.parameters(recurse=False))
        for weight in own if not any(p.requires_grad for p in own) else ():
            if weight.dim() >= 2 and weight.numel() >= 64 and measurable(weight):
                yield f"{root}.{path}" if path else root, weight, child


def _is_made_frozen(module: nn.Module, found: list[tuple[str, nn.Parameter, nn.Module]]) -> bool:
    """Fixed random features are frozen by the class that makes them."""
    layers = {id(layer) for _, _, layer in found}
    owners = [child for child in module.modules() if any(id(part) in layers for part in child.modules())]
    for kind in {type(owner) for owner in owners}:
        source = class_source(kind)
        makers = [node for node in source[1].body if getattr(node, "name", "") == "__init__"] if source else []
        if any(freezes(node) for maker in makers for node in ast.walk(maker)):
            return True
    return False


def _originals(module: nn.Module) -> dict[int, torch.Tensor]:
    """id of a weight -> that of a trained part beside it, of which it may be a copy, as target networks are."""
    trained = {id(p) for p in module.parameters() if p.requires_grad}
    parts = [(copy, part) for _, copy, _, part in copied_siblings(module, trained)]
    pairs = [pair for copy, part in parts for pair in zip(copy.parameters(), part.parameters(), strict=False)]
    return {id(one): other for one, other in pairs if one.device == other.device}


def _numbers(weight: torch.Tensor, original: torch.Tensor | None) -> torch.Tensor:
    """[mean, standard deviation, kurtosis, largest, is no copy]; all but the largest of a sample."""
    values = sampled(weight, 2**16).float()
    mean, squares = values.mean(), values.square()
    spread = squares.mean().sqrt()
    own = torch.ones_like(mean) if original is None else (values != sampled(original, 2**16)).any().float()
    return torch.stack(
        (mean, spread, squares.square().mean() / spread.pow(4), weight.detach().abs().amax().float(), own)
    )


def _line(is_it: Any) -> Place:
    for file in user_files():
        tree = tree_of(file)
        for node in nodes_of(tree) if tree is not None else ():
            if isinstance(node, ast.stmt | ast.expr) and is_it(node):
                return place_at(file, node.lineno)
    return Place()


# `module.requires_grad = False` and `p.require_grad = True`: attributes that switch nothing.
#
# A module has no such switch (`requires_grad_()` is one), and a misspelled one is a new attribute. Python takes both
# without a word. Looked for on deep steps, in the dictionaries of modules and parameters; where a part is frozen, on
# some other steps too, since most parts are unfrozen in the middle of a run.
_SWITCH = "requires_grad"
_LIKENESS = 0.85  # require_grad, requires_grads, required_grad


class Flags(Probe):
    name = "gradient switches"
    deep_only = True
    TOLD = 6  # of each attribute

    def __init__(self, watch: Watch, optimizers: Optimizers) -> None:
        super().__init__(watch)
        self.optimizers = optimizers
        self._reports: dict[tuple[str, bool], int] = {}
        self._frozen: dict[str, int] = {}  # parameters of each model
        self._waits = False  # for a frozen part to be unfrozen
        self._next = 0  # the step of the next look that is no deep step's
        optimizers.looks.on_count.append(self.end_step)

    def end_step(self) -> None:
        """After a deep step, now and then between them, and when the run is over."""
        step = self.watch.step
        if self._waits and self.watch.depth != DEEP and step < self._next:
            return
        self._next = step + max(1, step // 20)
        for root, module in self.optimizers.looks.roots.alive():
            for owner, thing, attribute in _flags(module, root.name):
                self._tell(root.name, owner, thing, attribute)
            # What is unfrozen gets a closer look: an optimizer that was made before may not hold it.
            frozen = sum(1 for parameter in module.parameters() if not parameter.requires_grad)
            before, self._frozen[root.name] = self._frozen.get(root.name, 0), frozen
            if frozen < before:
                self.watch.governor.insist(4)
            if frozen and not self._waits:
                self._waits = True
                self.watch.tell_of_light_steps(self)

    def _tell(self, root: str, owner: str, thing: nn.Module | nn.Parameter, attribute: str) -> None:
        value, is_module = bool(vars(thing)[attribute]), isinstance(thing, nn.Module)
        reports = self._reports.get((owner, value), 0)
        if reports >= self.TOLD:
            return
        self._reports[owner, value] = reports + 1
        parameters = [*thing.parameters()] if isinstance(thing, nn.Module) else [thing]
        optimized = self.optimizers.parameter_ids()
        settings = _settings(owner, attribute, is_module)
        fitting = [place for place, text in settings if text != str(not value)]
        self.watch.emit(
            GradientFlag(
                root=root,
                owner=owner,
                is_module=is_module,
                attribute=attribute,
                value=value,
                trainable=sum(p.numel() for p in parameters if p.requires_grad),
                frozen=sum(p.numel() for p in parameters if not p.requires_grad),
                moved=sum(p.numel() for p in parameters if id(p) in optimized and p.grad is not None),
                toggled=len(fitting) < len(settings),
                place=fitting[-1] if fitting else Place(),
                step=self.watch.step,
            )
        )


def _flags(module: nn.Module, root: str) -> Iterator[tuple[str, nn.Module | nn.Parameter, str]]:
    for path, child in module.named_modules():
        full = f"{root}.{path}" if path else root
        for attribute in vars(child):
            if _is_meant_as_switch(attribute):
                sources = [source for cls in type(child).__mro__ if (source := class_source(cls)) is not None]
                if not any(attribute in registrations(*source) for source in sources):  # else it is the class's own
                    yield full, child, attribute
        for name, parameter in child.named_parameters(recurse=False):
            for attribute in vars(parameter):
                if attribute != _SWITCH and _is_meant_as_switch(attribute):
                    yield f"{full}.{name}", parameter, attribute


@functools.lru_cache(maxsize=4096)
def _is_meant_as_switch(attribute: str) -> bool:
    if not attribute.startswith("requ"):
        return False
    return difflib.SequenceMatcher(None, attribute.rstrip("_"), _SWITCH).ratio() >= _LIKENESS


def _settings(owner: str, attribute: str, is_module: bool) -> list[tuple[Place, str]]:
    """The assignments whose targets end like the owner's path, with their values; else all that may be it."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    tree = tree_of(script) if isinstance(script, str) and is_user_file(script) else None
    if tree is None or script is None:
        return []
    found = []
    for node, scope in assignments(tree):
        for target in node.targets:
            if isinstance(target, ast.Attribute) and target.attr == attribute:
                name = ast.unparse(target.value)
                loops = [each for each in ast.walk(scope) if isinstance(each, ast.For)] if is_module else []
                over = [ast.unparse(loop.iter) for loop in loops if name in ast.unparse(loop.target)]
                if not any("parameters()" in each for each in over):  # else it is a parameter
                    found.append((name, place_at(script, node.lineno), ast.unparse(node.value)))
    named = [entry for entry in found if entry[0].rpartition(".")[2] == owner.rpartition(".")[2]]
    return [(place, value) for _, place, value in named or found]


# Lines that should freeze or unfreeze parameters and do not: by names that none has, or by `==`.
#
# The source is read once; tests of names are asked again on deep steps, with the names that the models have then.
_WRAPPERS = ("module.", "_orig_mod.")


class NameSwitches(Probe):
    name = "gradient switches by name"
    deep_only = True

    def __init__(self, watch: Watch, roots: RootModules) -> None:
        super().__init__(watch)
        self.roots = roots

    def end_step(self) -> None:
        """After a deep step, and when the run is over."""
        pairs = [(root.name, module) for root, module in self.roots.alive()]
        alive = [(name, module) for name, module in pairs if next(module.parameters(), None) is not None]
        script = getattr(sys.modules.get("__main__"), "__file__", None)
        if not alive or not isinstance(script, str):
            return
        tests, comparisons = _switches(script)
        for test in tests:
            own = [pair for pair in alive if pair[0] == test.owner]
            if not any(test.lets_through(name) for name in _names(own or alive, exactly=bool(own))):
                self._tell(test.text, test.value, test.place, own or alive)
        for place, value in comparisons:
            self._tell("", value, place, alive)

    def _tell(self, test: str, value: bool, place: Place, models: list[tuple[str, nn.Module]]) -> None:
        root, module = models[-1]
        parameters = [parameter for _, each in models for parameter in each.parameters()]
        self.watch.emit(
            UnmatchedSwitch(
                root=root,
                test=test,
                value=value,
                names=tuple(name for name, _ in module.named_parameters())[:2],
                trainable=sum(p.numel() for p in parameters if p.requires_grad),
                frozen=sum(p.numel() for p in parameters if not p.requires_grad),
                place=place,
                step=self.watch.step,
            )
        )


@functools.lru_cache(maxsize=4)
def _switches(script: str) -> tuple[list[NameTest], list[tuple[Place, bool]]]:
    return (name_tests(script), bare_comparisons(script)) if is_user_file(script) else ([], [])


def _names(models: list[tuple[str, nn.Module]], exactly: bool) -> Iterable[str]:
    """As named_parameters() of the model gives them; else as that of any of its parts might."""
    for _, module in models:
        for name, _ in module.named_parameters():
            for wrapper in _WRAPPERS:
                name = name.removeprefix(wrapper)
            parts = name.split(".")
            yield from (".".join(parts[start:]) for start in range(1 if exactly else len(parts)))
