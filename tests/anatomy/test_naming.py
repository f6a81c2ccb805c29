"""The user's own name for a module, looked up without running the user's code."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import nn

from torch_debugger.source.variables import name_root

a_global = nn.Linear(1, 1)


def here(module: nn.Module) -> str:
    return name_root(module, sys._getframe(1))


def test_a_local_variable() -> None:
    netG = nn.Linear(1, 1)
    assert here(netG) == "netG"


def test_a_name_with_an_underscore_only_if_there_is_no_other() -> None:
    _first = second = nn.Linear(1, 1)
    assert here(second) == "second"
    _only = nn.Linear(1, 1)
    assert here(_only) == "_only"


def test_a_global_and_an_outer_frame() -> None:
    assert here(a_global) == "a_global"
    outer = nn.Linear(1, 1)

    def inner(holder: list[nn.Module]) -> str:
        return name_root(holder[0], sys._getframe())

    assert inner([outer]) == "outer"


def test_attributes_of_self_then_of_others() -> None:
    class Agent:
        def __init__(self) -> None:
            self.policy = nn.Linear(1, 1)

        def act(self) -> str:
            return name_root(self.policy, sys._getframe())

    agent = Agent()
    assert agent.act() == "policy"
    assert here(agent.policy) == "policy"


def test_containers() -> None:
    models = {"a": nn.Linear(1, 1)}
    assert here(models["a"]) == "models['a']"
    nets = [nn.Linear(1, 1), nn.Linear(1, 1)]
    assert here(nets[1]) == "nets[1]"


def test_wrappers_are_named_by_their_variable() -> None:
    model = nn.DataParallel(nn.Linear(1, 1))
    assert here(model) == "model"
    assert here(model.module) == "model"
    fast = torch.compile(nn.Linear(1, 1))
    assert here(fast._orig_mod) == "fast"


def test_the_class_name_when_nobody_holds_it() -> None:
    assert name_root(nn.Bilinear(1, 1, 1), sys._getframe()) == "bilinear"
    assert name_root(nn.Bilinear(1, 1, 1), None) == "bilinear"


class Hostile:
    """Any attribute access, comparison or truth test is an error."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"asked for {name}")

    def __eq__(self, other: object) -> bool:
        raise AssertionError("compared")

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise AssertionError("tested")

    def __repr__(self) -> str:
        raise AssertionError("printed")


def test_user_code_never_runs() -> None:
    strange, held, mapped = Hostile(), [Hostile()], {"x": Hostile()}
    model = nn.Linear(1, 1)
    assert here(model) == "model"
    assert name_root(nn.Bilinear(1, 1, 1), sys._getframe()) == "bilinear"
    assert len(held) + len(mapped) == 2 and strange is not None
