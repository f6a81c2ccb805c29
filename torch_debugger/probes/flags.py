"""`module.requires_grad = False` and `p.require_grad = True`: attributes that switch nothing.

A module has no such switch (`requires_grad_()` is one), and a misspelled one is a new attribute. Python
takes both without a word. Looked for on deep steps, in the dictionaries of modules and parameters; where a
part is frozen, on some other steps too, since most parts are unfrozen in the middle of a run.
"""

from __future__ import annotations

import ast
import difflib
import functools
import sys
from collections.abc import Iterator

from torch import nn

from torch_debugger.anatomy.registrations import assignments, registrations
from torch_debugger.anatomy.sources import class_source, is_user_file, place_at, tree_of
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.sampling import DEEP
from torch_debugger.probes.watch import Watch
from torch_debugger.records import GradientFlag, Place

_SWITCH = "requires_grad"
_LIKENESS = 0.85  # require_grad, requires_grads, required_grad


class Flags(Probe):
    name = "gradient switches"
    deep_only = True
    TOLD = 6  # of each attribute

    def __init__(self, watch: Watch, optimizers: Optimizers) -> None:
        super().__init__(watch)
        self.optimizers = optimizers
        self._told: dict[tuple[str, bool], int] = {}
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
            self._count_frozen(root.name, module)

    def _count_frozen(self, root: str, module: nn.Module) -> None:
        """What is unfrozen gets a closer look: an optimizer that was made before may not hold it."""
        frozen = sum(1 for parameter in module.parameters() if not parameter.requires_grad)
        before, self._frozen[root] = self._frozen.get(root, 0), frozen
        if frozen < before:
            self.watch.governor.insist(4)
        if frozen and not self._waits:
            self._waits = True
            self.watch.tell_of_light_steps(self)

    def _tell(self, root: str, owner: str, thing: nn.Module | nn.Parameter, attribute: str) -> None:
        value, is_module = bool(vars(thing)[attribute]), isinstance(thing, nn.Module)
        told = self._told.get((owner, value), 0)
        if told >= self.TOLD:
            return
        self._told[owner, value] = told + 1
        parameters = [*thing.parameters()] if isinstance(thing, nn.Module) else [thing]
        held = self.optimizers.parameter_ids()
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
                moved=sum(p.numel() for p in parameters if id(p) in held and p.grad is not None),
                toggled=len(fitting) < len(settings),
                place=fitting[-1] if fitting else Place(),
                step=self.watch.step,
            )
        )


def _flags(module: nn.Module, root: str) -> Iterator[tuple[str, nn.Module | nn.Parameter, str]]:
    for path, child in module.named_modules():
        full = f"{root}.{path}" if path else root
        for attribute in vars(child):
            if _is_meant_as_switch(attribute) and not _is_the_classs_own(type(child), attribute):
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


def _is_the_classs_own(kind: type, attribute: str) -> bool:
    sources = [source for cls in kind.__mro__ if (source := class_source(cls)) is not None]
    return any(attribute in registrations(*source) for source in sources)


def _settings(owner: str, attribute: str, is_module: bool) -> list[tuple[Place, str]]:
    """The assignments whose targets end like the owner's path, with their values; else all that may be it."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    tree = tree_of(script) if isinstance(script, str) and is_user_file(script) else None
    if tree is None or script is None:
        return []
    found = [
        (ast.unparse(target.value), place_at(script, node.lineno), ast.unparse(node.value))
        for node, scope in assignments(tree)
        for target in node.targets
        if isinstance(target, ast.Attribute) and target.attr == attribute
        if not is_module or not _is_a_parameter(target.value, scope)
    ]
    named = [entry for entry in found if entry[0].rpartition(".")[2] == owner.rpartition(".")[2]]
    return [(place, value) for _, place, value in named or found]


def _is_a_parameter(target: ast.expr, scope: ast.AST) -> bool:
    """The variable of a loop over parameters()."""
    loops = [node for node in ast.walk(scope) if isinstance(node, ast.For)]
    over = [loop for loop in loops if ast.unparse(target) in ast.unparse(loop.target)]
    return any("parameters()" in ast.unparse(loop.iter) for loop in over)
