"""What load_state_dict() was given, beside what the module asked for."""

from __future__ import annotations

import ast
import dataclasses
import functools
import sys
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import nn

from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.probe import Patches, Probe
from torch_debugger.probes.watch import Watch
from torch_debugger.records import CheckpointLoad, Place, PlainTensor, SavedTensor
from torch_debugger.source.attributes import is_filled_later, running_update
from torch_debugger.source.files import class_source, nodes_of, tree_of
from torch_debugger.source.frames import locals_of, place_of, user_frame
from torch_debugger.source.model_copies import is_filled_from_elsewhere, taken_at
from torch_debugger.source.objects import is_a, is_one_of
from torch_debugger.source.statements import attribute_place
from torch_debugger.stats.dispatch_modes import no_grad
from torch_debugger.stats.summary import sampled
from torch_debugger.system.tracebacks import hidden_in_tracebacks


class Checkpoints(Probe):
    name = "checkpoints"
    TOLD = 32  # loads of one run
    NAMED = 200  # keys of each list

    _reports = 0

    def install(self, patches: Patches) -> None:
        patches.replace(nn.Module, "load_state_dict", self._around_load)

    def _around_load(self, original: Any) -> Any:
        @functools.wraps(original)
        def load_state_dict(module: nn.Module, *arguments: Any, **keywords: Any) -> Any:
            with hidden_in_tracebacks:
                result = original(module, *arguments, **keywords)
            state_dict = arguments[0] if arguments else keywords.get("state_dict")
            if is_a(state_dict, Mapping) and self._reports < self.TOLD:
                self.watch.probe(self.name, self._tell, module, state_dict, result)
            return result

        return load_state_dict

    @no_grad()
    def _tell(self, module: nn.Module, state_dict: Mapping[str, Any], result: Any) -> None:
        frame = user_frame(2)
        if frame is None:
            return  # a library's own business
        self._reports += 1
        own = module.state_dict()
        alike = sum(_is_same(own[key], state_dict[key]) for key in own if key in state_dict)
        passed = _passed_over(frame, state_dict, own) if own and alike == len(own) else None
        state_dict = state_dict if passed is None else passed
        loaded = [key for key in own if key in state_dict]
        missing = [key for key in own if key not in state_dict and not key.endswith("num_batches_tracked")]
        unexpected = [key for key in state_dict if key not in own]
        inside = [(key, value) for key, value in state_dict.items() if not loaded and is_a(value, Mapping)]
        parameters = [name for name, _ in module.named_parameters()]
        self.watch.emit(
            CheckpointLoad(
                kind=type(module).__name__,
                place=place_of(frame),
                wanted=len(own),
                loaded=len(loaded),
                own=alike,
                missing=tuple(_saved(key, own[key]) for key in missing[: self.NAMED]),
                unexpected=tuple(_saved(key, state_dict[key]) for key in unexpected[: self.NAMED]),
                last_layer=parameters[-1].rpartition(".")[0] if parameters else "",
                nested=next((str(key) for key, value in inside if any(name in value for name in own)), ""),
                kept=taken_at(frame) if own and alike == len(own) else Place(),
                step=self.watch.step,
                filtered=passed is not None,
            )
        )


def _is_same(one: Any, other: Any) -> bool:
    """The same memory: what is loaded is what is there."""
    if not is_a(one, torch.Tensor) or not is_a(other, torch.Tensor) or one.device != other.device:
        return False
    return one is other or (one.data_ptr() == other.data_ptr() and one.data_ptr() != 0)


def _saved(key: str, value: Any) -> SavedTensor:
    return SavedTensor(str(key), tuple(value.shape) if is_a(value, torch.Tensor) else ())


def _passed_over(frame: FrameType, state_dict: Mapping[str, Any], own: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """`current.update(matching)`, and nothing matched: the state in reach of which no name fits."""
    for value in locals_of(frame).values() if is_filled_from_elsewhere(frame) else ():
        if (
            is_a(value, Mapping)
            and value
            and value is not state_dict
            and all(is_a(t, torch.Tensor) for t in value.values())
        ):
            return None if any(key in own for key in value) else value
    return None


# Tensors that modules keep as plain attributes: weights that nobody trains, states that nobody saves.
#
# Looked at on the first deep steps, in the dictionaries of modules of the user's own classes.
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
        script = getattr(sys.modules.get("__main__"), "__file__", None)
        tree = tree_of(script) if isinstance(script, str) else None
        nodes = nodes_of(tree) if tree is not None else ()
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
            saved=any(isinstance(node, ast.Attribute) and node.attr == "state_dict" for node in nodes),
            place=attribute_place(type(module), attribute.partition("[")[0]) or Place(),
            update=kept.update,
            looks=kept.looks,
            step=self.watch.step,
        )
        now = sampled(tensor)
        if now.shape != kept.sample.shape or now.device != kept.sample.device:
            self.watch.emit(fact)
        else:
            self.watch.transfer.send(
                (now != kept.sample).any().reshape(1),
                lambda changed: self.watch.emit(dataclasses.replace(fact, changed=bool(changed.any()))),
            )


def _plain(module: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    found = [(name, value) for name, value in vars(module).items() if is_a(value, torch.Tensor)]
    if found and class_source(type(module)) is not None:
        for name, value in found:
            if not value.is_meta and value.layout is torch.strided and value.numel():
                yield name, value


def _collected(module: nn.Module, known: set[int]) -> Iterator[tuple[str, torch.Tensor]]:
    """The first weight of each plain list, tuple or dictionary: factors[0]"""
    containers = [(name, value) for name, value in vars(module).items() if is_one_of(value, (list, tuple, dict))]
    for name, value in containers if class_source(type(module)) is not None else ():
        entries = [*value.items()] if is_a(value, dict) else [*enumerate(value)]
        for key, each in entries[:_ENTRIES]:
            if is_a(each, torch.Tensor) and each.requires_grad and each.is_leaf and id(each) not in known:
                yield f"{name}[{key!r}]", each
                break


# Which modules the script puts on a device, and by which line: `model.to(device)`, `net.cuda()`.
class ModuleMoves(Probe):
    name = "module moves"
    KEPT = 64  # a script may move thousands of layers one by one

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._seen: list[tuple[weakref.ref[nn.Module], Place]] = []

    def install(self, patches: Patches) -> None:
        for name in ("to", "cuda"):
            patches.replace(nn.Module, name, self._around)

    def remove(self) -> None:
        self._seen.clear()

    def alive(self) -> list[tuple[nn.Module, Place]]:
        pairs = ((reference(), place) for reference, place in self._seen)
        return [(module, place) for module, place in pairs if module is not None]

    def _around(self, original: Any) -> Any:
        @functools.wraps(original)
        def move(module: nn.Module, *arguments: Any, **keywords: Any) -> Any:
            if torch.compiler.is_compiling():
                return original(module, *arguments, **keywords)
            with hidden_in_tracebacks:
                result = original(module, *arguments, **keywords)
            if len(self._seen) < self.KEPT:
                self.watch.probe(self.name, self._note, module)
            return result

        return move

    def _note(self, module: nn.Module) -> None:
        self._seen.append((weakref.ref(module), place_of(user_frame(2))))
