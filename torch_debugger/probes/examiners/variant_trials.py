"""Models with one module made anew, tried on what has failed, in a fork that is sealed."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

import torch
from torch import nn
from torch.utils._pytree import tree_map_only

from torch_debugger.anatomy.forked import ForkedTask
from torch_debugger.anatomy.global_hooks import without_global_hooks
from torch_debugger.anatomy.system_calls import can_be_refused
from torch_debugger.clocks import time
from torch_debugger.probes.crash_frames import is_tensor
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.replays import copied
from torch_debugger.probes.shape_flow import is_wise, outermost_call, shapes_of
from torch_debugger.stats.unseen import no_grad

_TIME_LIMIT_S = 8.0
_LONGEST_TRY_S = 1.0  # of computing

Passes = Callable[[nn.Module], bool]
MakeTest = Callable[[], Passes | None]


@dataclass(frozen=True)
class Variant:
    """A module of the model, made anew with other arguments."""

    module: nn.Module
    make: Callable[[], nn.Module]
    instead: Callable[[], nn.Module] | None = None  # another change, which is as likely if it goes through


AnyVariant = TypeVar("AnyVariant", bound=Variant)


def trial_of(scene: Scene) -> tuple[nn.Module, MakeTest] | None:
    """The model, and what tells whether a variant of it gets further than the script did."""
    if not can_be_refused():
        return None
    call = outermost_call(scene.frames)
    if call is not None:
        root, args, kwargs = call
        if not is_wise(scene.error, root, args, kwargs):
            return None
        return root, lambda: lambda model: call_on_shapes(model, args, kwargs) is not None
    models = [
        name for name in scene.running.calls if next(scene.running.models[name].parameters(), None) is not None
    ]
    if len(models) != 1:
        return None
    root, (args, kwargs) = scene.running.models[models[0]], scene.running.calls[models[0]]
    if not is_wise(scene.error, root, args, kwargs):
        return None
    met = _shapes_met(scene)

    def make_test() -> Passes | None:
        before = _made(root, args, kwargs)
        odd = [number for number, shape in enumerate(before) if shape in met]
        wanted = {
            shape for shape in met if odd and shape != before[odd[0]] and len(shape) == len(before[odd[0]])
        }
        if not odd or len(wanted) != 1:
            return None

        def fits(model: nn.Module) -> bool:
            made = _made(model, args, kwargs)
            return len(made) == len(before) and made[odd[0]] in wanted

        return fits

    return root, make_test


def _shapes_met(scene: Scene) -> list[tuple[int, ...]]:
    """Of the tensors in the innermost frame that has some."""
    for seen in reversed(scene.frames):
        met = [tuple(value.shape) for value in seen.frame.f_locals.values() if is_tensor(value)]
        if met:
            return met
    return []


def _made(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[int, ...], ...]:
    """The shapes of the results; none where the call that went well does not again."""
    try:
        return shapes_of(call_on_shapes(model, args, kwargs))
    except (Exception, SystemExit):  # of the user's own code
        return ()


def variants_that_pass(root: nn.Module, variants: list[AnyVariant], make_test: MakeTest) -> list[AnyVariant]:
    """Tried in a fork, for constructors of the user's run with sizes that were never meant for them."""

    def try_all() -> str:
        from torch_debugger.anatomy.sealed import seal

        if any(each.device.type != "cpu" for each in root.parameters()):
            root.to("meta")  # a fork has no accelerator, and shapes need none
        seal()
        with without_global_hooks(), no_grad():
            passes = make_test()
            numbers = [str(at) for at, each in enumerate(variants) if passes and _stands(root, each, passes)]
        return ",".join(["", *numbers])

    text = ForkedTask(try_all, _TIME_LIMIT_S, urgent=True).wait().decode()
    return [variants[int(number)] for number in text.split(",")[1:]]


def _stands(root: nn.Module, variant: Variant, passes: Passes) -> bool:
    other = variant.instead
    goes_through = _fits(root, variant, variant.make, passes)
    return goes_through and (other is None or not _fits(root, variant, other, passes))


def call_on_shapes(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    weight = next(model.parameters(), None)
    if weight is not None and weight.is_meta:
        args, kwargs = tree_map_only(torch.Tensor, lambda each: each.to("meta"), (args, kwargs))
    return model.forward(*copied(args), **copied(kwargs))


def _fits(root: nn.Module, variant: Variant, make: Callable[[], nn.Module], passes: Passes) -> bool:
    try:
        with _limited():
            new = make()
            old = next(variant.module.parameters(), None)
            if old is not None:
                new.to(old.device, old.dtype)
            new.train(variant.module.training)
            with _in_place_of(root, variant.module, new):
                return passes(new if variant.module is root else root)
    except (Exception, SystemExit, _TooLongError):  # the user's own code, run with sizes that it may not take
        return False


class _TooLongError(BaseException):
    """A number of layers that was a number of words: no `except Exception` of the user's may catch it."""


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """Of timers there are none behind a seal."""
    end = time.process_time() + _LONGEST_TRY_S

    def look(frame: FrameType, event: str, argument: object) -> None:
        if time.process_time() > end:
            raise _TooLongError

    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(None)


@contextlib.contextmanager
def _in_place_of(root: nn.Module, old: nn.Module, new: nn.Module) -> Iterator[None]:
    places = [
        (owner._modules, name)
        for owner in root.modules()
        for name, each in owner._modules.items()
        if each is old
    ]
    for held, name in places:
        held[name] = new
    try:
        yield
    finally:
        for held, name in places:
            held[name] = old
