"""One forward of a model, listened to and left without a trace: for real, or on shapes without memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import nn

from torch_debugger.anatomy.compiling import uncompiled
from torch_debugger.anatomy.counting.module_scopes import ModuleScopes
from torch_debugger.anatomy.counting.shape_tensors import NoValuesError
from torch_debugger.anatomy.counting.tallies import uncounted
from torch_debugger.anatomy.counting.twins import twinned, without_values
from torch_debugger.anatomy.flop_count import UncountedOp
from torch_debugger.anatomy.global_hooks import without_global_hooks
from torch_debugger.anatomy.rerun import leaving_no_trace, own_autocast_cache
from torch_debugger.anatomy.summing.attempts import Attempt
from torch_debugger.anatomy.summing.call_tree import SECONDS, CallTree, Node, nodes
from torch_debugger.anatomy.summing.parts import Parts
from torch_debugger.anatomy.summing.shape_meter import ShapeMeter
from torch_debugger.anatomy.summing.stopwatch import Stopwatch
from torch_debugger.anatomy.unfused_encoders import unfused_encoders
from torch_debugger.anatomy.unseen_runs import in_mode
from torch_debugger.signals import is_the_scripts

_TIMED_RUNS = 3  # after one that warms up; the quickest is told


class Ran(NamedTuple):
    root: Node
    attempt: Attempt
    on_shapes: bool
    uncounted: tuple[UncountedOp, ...]


class Failure(NamedTuple):
    attempt: Attempt
    error: Exception
    at: Node | None  # the call that raised
    on_shapes: bool

    @property
    def wants_values(self) -> bool:
        """The forward depends on what is in a tensor, or does something that shapes cannot."""
        lacks = isinstance(self.error, (NoValuesError, NotImplementedError))
        told = str(self.error).lower()
        return self.on_shapes and (lacks or "meta" in told or "tensor subclass" in told)


@dataclass
class Runner:
    """Runs one model in one way, and remembers what failed."""

    model: nn.Module
    training: bool | None  # None: each module in its own mode
    failures: list[Failure] = field(default_factory=list)

    def counted(self, attempt: Attempt, on_shapes: bool) -> Ran | None:
        """None where the model raised."""
        with unseen(self.model, self.training):
            scopes = ModuleScopes(self.model)
            meter = ShapeMeter(scopes, on_shapes)
            tree = CallTree(Parts(self.model), macs=lambda: meter.macs)
            root = self._run(attempt, tree, on_shapes, scopes.following(), meter)
        return Ran(root, attempt, on_shapes, uncounted(meter)) if root is not None else None

    def timed(self, ran: Ran) -> Ran:
        """With seconds for each call, where the same calls are made again; one run to warm up came before."""
        device = device_of(self.model)
        runs = []
        with unseen(self.model, self.training):
            for _ in range(_TIMED_RUNS):
                tree = CallTree(Parts(self.model), Stopwatch(device))
                runs.append(self._run(ran.attempt, tree, False))
        whole = [root for root in runs if root is not None and _alike(root, ran.root)]
        if whole:
            quickest = min(whole, key=lambda root: root.total(SECONDS))
            for node, timed in zip(nodes(ran.root), nodes(quickest), strict=True):
                node.spent |= timed.spent
        return ran

    def plain(self, attempt: Attempt) -> bool:
        """Here and now, whatever is left behind; whether it went well."""
        return self._run(attempt, CallTree(Parts(self.model)), False) is not None

    def _run(
        self, attempt: Attempt, tree: CallTree, on_shapes: bool, *meters: contextlib.AbstractContextManager[Any]
    ) -> Node | None:
        try:
            with contextlib.ExitStack() as around:
                if on_shapes:
                    around.enter_context(_without_memory(self.model))
                arguments, keywords = attempt.made(device_of(self.model), on_shapes)
                around.enter_context(tree.listening())
                for meter in meters:
                    around.enter_context(meter)
                self.model(*arguments, **keywords)
        except Exception as error:  # the user's own, from forward: another way of calling may fit
            if is_the_scripts(error):
                raise
            self.failures.append(Failure(attempt, error, tree.under_way(), on_shapes))
            return None
        return tree.root


def _without_memory(model: nn.Module) -> contextlib.AbstractContextManager[None]:
    if any(isinstance(module, torch.jit.ScriptModule) for module in model.modules()):
        raise NoValuesError("a scripted module keeps its weights to itself")
    return twinned(model, without_values)


@contextlib.contextmanager
def unseen(model: nn.Module, training: bool | None) -> Iterator[None]:
    """In silence: a summary may take several tries."""
    with (
        leaving_no_trace(model),
        contextlib.nullcontext() if training is None else in_mode(model, training),
        uncompiled(),
        own_autocast_cache(),
        without_global_hooks(),
        unfused_encoders(),
        torch.inference_mode(False),
        torch.no_grad(),
    ):
        yield


def device_of(model: nn.Module) -> torch.device | None:
    held = (value.device for value in (*model.parameters(), *model.buffers()))
    return next(held, None)


def _alike(one: Node, other: Node) -> bool:
    return [node.path for node in nodes(one)] == [node.path for node in nodes(other)]
