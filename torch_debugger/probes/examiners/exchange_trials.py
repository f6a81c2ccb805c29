"""Calls of constructors with two arguments exchanged, tried in a fork that is sealed."""

from __future__ import annotations

import ast
import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_map_only

from torch_debugger.anatomy.forked import ForkedTask
from torch_debugger.anatomy.global_hooks import without_global_hooks
from torch_debugger.clocks import time
from torch_debugger.probes.replays import copied
from torch_debugger.stats.unseen import no_grad

_TIME_LIMIT_S = 8.0
_LONGEST_TRY_S = 1.0  # of computing

Passes = Callable[[nn.Module], bool]
MakeTest = Callable[[], Passes | None]


@dataclass(frozen=True)
class Exchange:
    """One way to exchange two arguments of one call."""

    file: str
    call: ast.Call
    first: ast.expr
    second: ast.expr
    module: nn.Module  # that the call has made
    make: Callable[[], nn.Module]  # the same with these two exchanged
    path: str  # net.decoder
    names: int  # how many more arguments would bear the name of their parameter
    narrows: int = 0  # 1 if what is called latent becomes the smaller of the two, -1 if the larger
    instead: Callable[[], nn.Module] | None = None  # another change, which is as likely if it goes through


def exchanges_that_pass(root: nn.Module, exchanges: list[Exchange], make_test: MakeTest) -> list[Exchange]:
    """Tried in a fork, for constructors of the user's run with sizes that were never meant for them."""

    def try_all() -> str:
        from torch_debugger.anatomy.sealed import seal

        if any(each.device.type != "cpu" for each in root.parameters()):
            root.to("meta")  # a fork has no accelerator, and shapes need none
        seal()
        with without_global_hooks(), no_grad():
            passes = make_test()
            numbers = [str(at) for at, each in enumerate(exchanges) if passes and _stands(root, each, passes)]
        return ",".join(["", *numbers])

    text = ForkedTask(try_all, _TIME_LIMIT_S, urgent=True).wait().decode()
    return [exchanges[int(number)] for number in text.split(",")[1:]]


def _stands(root: nn.Module, exchange: Exchange, passes: Passes) -> bool:
    other = exchange.instead
    goes_through = _fits(root, exchange, exchange.make, passes)
    return goes_through and (other is None or not _fits(root, exchange, other, passes))


def call_on_shapes(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    weight = next(model.parameters(), None)
    if weight is not None and weight.is_meta:
        args, kwargs = tree_map_only(torch.Tensor, lambda each: each.to("meta"), (args, kwargs))
    return model.forward(*copied(args), **copied(kwargs))


def _fits(root: nn.Module, exchange: Exchange, make: Callable[[], nn.Module], passes: Passes) -> bool:
    try:
        with _limited():
            new = make()
            old = next(exchange.module.parameters(), None)
            if old is not None:
                new.to(old.device, old.dtype)
            new.train(exchange.module.training)
            with _in_place_of(root, exchange.module, new):
                return passes(new if exchange.module is root else root)
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
