"""Tensors that modules keep as plain attributes: weights that nobody trains, states that nobody saves.

Looked at on the first deep steps, in the dictionaries of modules of the user's own classes.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import sys
import weakref
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn

from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.anatomy.module_state import is_filled_later, running_update
from torch_debugger.anatomy.sources import class_source, nodes_of, tree_of
from torch_debugger.anatomy.statements import attribute_place
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Place, PlainTensor
from torch_debugger.stats.summary import sampled
from torch_debugger.stats.transfer import Numbers
from torch_debugger.stats.unseen import no_grad

_ENTRIES = 16  # of a list


@dataclass
class Kept:
    """What an attribute held at the first look."""

    tensor: weakref.ref[torch.Tensor]  # one that needs a gradient must stay the same object
    sample: torch.Tensor
    update: Place
    looks: int = 0


class PlainTensors(Probe):
    name = "plain tensors"
    deep_only = True
    LOOKS = 8
    TOLD_FROM = 2  # looks after the first: three deep steps are sure

    def __init__(self, watch: Watch, optimizers: Optimizers) -> None:
        super().__init__(watch)
        self.optimizers = optimizers
        self._kept: dict[tuple[str, str], Kept] = {}
        self._looks = 0

    @no_grad()
    def end_step(self) -> None:
        """After a deep step, and when the run is over."""
        self._looks += 1
        if self._looks > self.LOOKS:
            return
        for root, module in self.optimizers.looks.roots.alive():
            known = {id(parameter) for parameter in module.parameters()}
            for path, child in module.named_modules():
                for attribute, tensor in (*_plain(child), *_collected(child, known)):
                    owner = ".".join(part for part in (root.name, path) if part)
                    self._look(owner, child, attribute, tensor)

    def _look(self, owner: str, module: nn.Module, attribute: str, tensor: torch.Tensor) -> None:
        if not tensor.is_leaf and is_filled_later(type(module), attribute):
            return
        kept = self._kept.get((owner, attribute))
        if kept is None or (tensor.requires_grad and kept.tensor() is not tensor):
            update = Place() if tensor.requires_grad else running_update(type(module), attribute)
            self._kept[owner, attribute] = Kept(weakref.ref(tensor), sampled(tensor).clone(), update)
            return
        kept.looks += 1
        if kept.looks >= self.TOLD_FROM and (tensor.requires_grad or kept.update):
            self._tell(owner, module, attribute, tensor, kept)

    def _tell(self, owner: str, module: nn.Module, attribute: str, tensor: torch.Tensor, kept: Kept) -> None:
        fact = PlainTensor(
            owner=owner,
            kind=type(module).__name__,
            attribute=attribute,
            elements=tensor.numel(),
            trained=tensor.requires_grad,
            is_leaf=tensor.is_leaf,
            reached=tensor.is_leaf and tensor.grad is not None,
            held=id(tensor) in self.optimizers.parameter_ids(),
            changed=True,
            saved=_script_saves(),
            place=attribute_place(type(module), attribute.partition("[")[0]) or Place(),
            update=kept.update,
            looks=kept.looks,
            step=self.watch.step,
        )
        now = sampled(tensor)
        if now.shape != kept.sample.shape or now.device != kept.sample.device:
            self.watch.emit(fact)
        else:
            changed = (now != kept.sample).any().reshape(1)
            self.watch.transfer.send(changed, functools.partial(self._tell_changed, fact))

    def _tell_changed(self, fact: PlainTensor, changed: Numbers) -> None:
        self.watch.emit(dataclasses.replace(fact, changed=bool(changed.any())))


def _plain(module: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    found = [(name, value) for name, value in vars(module).items() if is_a(value, torch.Tensor)]
    if found and class_source(type(module)) is not None:
        for name, value in found:
            if not value.is_meta and value.layout is torch.strided and value.numel():
                yield name, value


def _collected(module: nn.Module, known: set[int]) -> Iterator[tuple[str, torch.Tensor]]:
    """The first weight of each plain list, tuple or dictionary: factors[0]"""
    held = [(name, value) for name, value in vars(module).items() if is_one_of(value, (list, tuple, dict))]
    for name, value in held if class_source(type(module)) is not None else ():
        entries = [*value.items()] if is_a(value, dict) else [*enumerate(value)]
        for key, each in entries[:_ENTRIES]:
            if is_a(each, torch.Tensor) and each.requires_grad and each.is_leaf and id(each) not in known:
                yield f"{name}[{key!r}]", each
                break


def _script_saves() -> bool:
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    tree = tree_of(script) if isinstance(script, str) else None
    nodes = nodes_of(tree) if tree is not None else ()
    return any(isinstance(node, ast.Attribute) and node.attr == "state_dict" for node in nodes)
