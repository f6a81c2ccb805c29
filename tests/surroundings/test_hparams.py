"""Hyperparameters are found where scripts keep them, and no line of the script's is run to read them."""

from __future__ import annotations

import argparse
import enum
import pathlib
import random
import sys
import types
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import attrs
import numpy as np
import pydantic
import pytest
import torch
from absl import flags

from torch_debugger.records import HparamsFact, OptimizerFact, Place
from torch_debugger.runner.hyperparameters import find_hparams, find_seeds, flatten, is_config, optimizer_hparams
from torch_debugger.system.secret_names import SECRET


class Kind(enum.Enum):
    COSINE = "a value"


@dataclass
class Optimizing:
    lr: float = 0.1
    betas: tuple[float, float] = (0.9, 0.99)


@dataclass
class Config:
    name: str = "mine"
    optimizer: Optimizing = field(default_factory=Optimizing)
    schedule: Kind = Kind.COSINE
    out: pathlib.Path = pathlib.Path("a/b")
    layers: tuple[Any, ...] = ()
    api_key: str = "hunter2"


@attrs.define
class Attrs:
    lr: float = 0.2


class Pydantic(pydantic.BaseModel):
    lr: float = 0.3


@dataclass(slots=True)
class Slotted:
    lr: float = 0.4


class Kaggle:
    lr = 0.5
    _hidden = 1

    def method(self) -> None: ...


class AttributeDict(dict):  # type: ignore[type-arg]
    """As EasyDict, addict and Munch are."""

    __getattr__ = dict.__getitem__


def found(**variables: Any) -> dict[str, Any]:
    return {name: value for fact in find_hparams([variables], 1) for name, value in fact.values.items()}


def test_a_parsed_command_line_is_found_under_any_name() -> None:
    given = argparse.Namespace(lr=0.1, epochs=3, resume=None, amp=True, sizes=[64, 32], model=torch.nn.Linear(1, 1))
    facts = find_hparams([{"what_was_given": given}], 7)
    assert facts == [HparamsFact({"lr": 0.1, "epochs": 3, "amp": True, "sizes": "[64, 32]"}, "what_was_given", 7)]


def test_nested_configs_are_flattened() -> None:
    assert found(cfg=Config()) == {
        "name": "mine", "optimizer.lr": 0.1, "optimizer.betas": "[0.9, 0.99]", "schedule": "COSINE",
        "out": "a/b", "api_key": SECRET,
    }  # fmt: skip
    assert found(config={"a": {"b": {"c": 1}}, 3: "x", (1, 2): 5}) == {"a.b.c": 1, "3": "x"}


@pytest.mark.parametrize(
    "config",
    [
        {"lr": 0.5}, OrderedDict(lr=0.5), AttributeDict(lr=0.5), types.SimpleNamespace(lr=0.5), Attrs(lr=0.5),
        Pydantic(lr=0.5), Slotted(lr=0.5), Kaggle, Kaggle(), {"lr": np.float32(0.5)}, {"lr": np.float64(0.5)},
    ],
    ids=lambda config: type(config).__name__,
)  # fmt: skip
@pytest.mark.parametrize("name", ["args", "cfg", "CFG", "config", "hparams", "train_config", "opt", "params"])
def test_every_kind_of_config_is_read(config: Any, name: str) -> None:
    assert found(**{name: config}) == {"lr": 0.5}


def test_absl_flags_are_read_without_those_of_absl() -> None:
    values = flags.FlagValues()
    flags.DEFINE_float("lr", 0.5, "", flag_values=values)
    flags.DEFINE_integer("secret_token", 3, "", flag_values=values)
    values(["program", "--lr=0.25"])
    assert found(FLAGS=values) == {"lr": 0.25, "secret_token": SECRET}


def test_devices_and_dtypes_are_told_by_name() -> None:
    config = {"device": torch.device("cpu"), "dtype": torch.float16, "weights": torch.ones(3), "f": print}
    assert found(config=config) == {"device": "cpu", "dtype": "torch.float16"}


def test_constants_of_the_module_are_found() -> None:
    variables = {
        "LR": 1e-3,
        "BATCH_SIZE": 64,
        "batch_size": 8,
        "x": 1,
        "HF_TOKEN": "abc",
        "Model": 3,
        "N": None,
    }
    assert find_hparams([variables], 1) == [
        HparamsFact({"LR": 1e-3, "BATCH_SIZE": 64, "batch_size": 8, "HF_TOKEN": SECRET}, "constants", 1)
    ]


def test_a_trainer_s_own_settings_are_found() -> None:
    trainer = types.SimpleNamespace(hparams={"lr": 0.5}, loss=1.0)
    assert find_hparams([{"self": trainer}], 1) == [HparamsFact({"lr": 0.5}, "self.hparams", 1)]


@dataclass
class TrainConfig:
    lr: float = 0.1


@dataclass
class Recipe:
    lr: float = 0.1
    name: str = "mine"
    schedule: Any = None


@dataclass
class StepMetrics:
    loss: float = 0.1
    accuracy: float = 0.5


@dataclass
class Views:
    first: Any = None
    second: Any = None
    third: int = 3


@pytest.mark.parametrize("config", [TrainConfig(), Recipe()])
def test_a_dataclass_of_settings_is_found_under_any_name(config: Any) -> None:
    trainer = types.SimpleNamespace(c=config)
    assert found(self=trainer)["lr"] == 0.1
    assert found(c=config)["lr"] == 0.1


@pytest.mark.parametrize("value", [StepMetrics(), Views(), TrainConfig, Recipe])
def test_a_dataclass_of_results_or_of_objects_is_no_config(value: Any) -> None:
    assert not found(c=value)


def test_one_object_is_told_once_and_inner_names_win() -> None:
    config = {"lr": 0.5}
    inner, outer = {"cfg": config, "lr": 1}, {"config": config, "lr": 2, "epochs": 3}
    assert find_hparams([inner, outer], 1) == [
        HparamsFact({"lr": 0.5}, "cfg", 1),
        HparamsFact({"lr": 1, "epochs": 3}, "constants", 1),
    ]


def test_what_is_no_config_is_left_alone() -> None:
    assert not is_config("args", [1, 2])
    assert not is_config("opt", torch.optim.SGD([torch.ones(1)], lr=0.1))
    assert not is_config("config", torch.nn.Linear(2, 2))
    assert not is_config("data", {"lr": 0.1})
    assert found(args=(), params=[torch.ones(1)], config=None) == {}


def test_sizes_are_bounded() -> None:
    assert len(flatten({str(number): number for number in range(5000)})) == 500
    assert len(flatten({"text": "x" * 10**6})["text"]) == 200  # type: ignore[arg-type]
    circle: dict[str, Any] = {"lr": 1}
    circle["self"] = circle
    assert flatten(circle) == {"lr": 1}


def test_a_net_of_objects_is_not_walked_for_ever() -> None:
    class Node:
        def __init__(self) -> None:
            self.others: dict[str, Any] = {}

    nodes = [Node() for _ in range(300)]
    for node in nodes:
        node.others = {f"n{number}": other for number, other in enumerate(nodes)}
    assert flatten({"lr": 1, "nodes": nodes[0]}) == {"lr": 1}


def test_a_module_of_settings_is_read_without_what_it_imports() -> None:
    inner, settings = types.ModuleType("inner"), types.ModuleType("config")
    for module in (inner, settings):
        module.__file__ = "/home/me/project/config.py"
    inner.lr = 9  # type: ignore[attr-defined]
    settings.lr, settings.inner, settings.Kaggle = 0.5, inner, Kaggle  # type: ignore[attr-defined]
    assert found(config=settings) == {"lr": 0.5}


class Meta(type):
    def __getattribute__(cls, name: str) -> Any:
        raise AssertionError(f"the class was asked for {name}")

    def __eq__(cls, other: object) -> bool:
        raise AssertionError("the class was compared")

    __hash__ = type.__hash__


class Trap(metaclass=Meta):
    """Whoever asks it anything runs its code."""

    def __init__(self) -> None:
        object.__setattr__(self, "lr", 0.5)

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"asked for {name}")

    def _refuse(self, *arguments: Any) -> Any:
        raise AssertionError("asked")

    __eq__ = __str__ = __repr__ = __bool__ = __float__ = __int__ = __fspath__ = _refuse
    __hash__ = None  # type: ignore[assignment]
    lazy = property(_refuse)


class TrapDict(dict):  # type: ignore[type-arg]
    def items(self) -> Any:
        raise AssertionError("asked for its items")

    __iter__ = __getitem__ = __len__ = __contains__ = keys = values = items  # type: ignore[assignment]


class TrapNumber(float):
    def __repr__(self) -> str:
        raise AssertionError("asked for its text")

    __str__ = __float__ = __repr__  # type: ignore[assignment]


def test_no_code_of_the_user_s_is_run() -> None:
    trap = Trap()
    scopes = [{"args": trap, "cfg": Trap, "config": {"a": trap, "b": TrapNumber(1), "lr": 1}, "x": trap, "self": trap}]
    told = {fact.origin: fact.values for fact in find_hparams([*scopes, {"params": TrapDict(lr=2)}], 1)}
    assert told["args"] == {"lr": 0.5}
    assert told["config"] == {"a.lr": 0.5, "lr": 1}
    assert told["params"] == {"lr": 2}


def test_optimizers_tell_their_settings() -> None:
    fact = OptimizerFact("opt", "Adam", Place(), ({"lr": 0.1, "eps": 1e-8}, {"lr": 0.2, "eps": 1e-8}), (), 1)
    values = {"opt.kind": "Adam", "opt.lr": 0.1, "opt.eps": 1e-8, "opt.groups.1.lr": 0.2}
    assert optimizer_hparams([fact], 3) == [HparamsFact(values, "opt", 3)]


def test_a_rate_that_a_schedule_has_warmed_up_is_told_as_it_was_written() -> None:
    fact = OptimizerFact("opt", "Adam", Place(), ({"lr": 1e-4, "initial_lr": 3e-3},), (), 1)
    assert optimizer_hparams([fact], 1) == [HparamsFact({"opt.kind": "Adam", "opt.lr": 3e-3}, "opt", 1)]


@pytest.mark.parametrize("drawn", [0, 1, 700, 2000])
def test_seeds_are_told_from_the_state_of_the_generators(drawn: int) -> None:
    random.seed(5)
    np.random.seed(7)
    for _ in range(drawn):
        random.getrandbits(32)
        np.random.randint(0, 2)
    states = random.getstate(), np.random.get_state()[1].tolist()
    told = find_seeds(7, [HparamsFact({"data.seed": 5, "lr": 0.1}, "cfg", 1)])
    assert told == {"torch": 7, "python": 5, "numpy": 7}
    assert states == (random.getstate(), np.random.get_state()[1].tolist()), "a number was drawn"


def test_an_unknown_seed_is_not_guessed() -> None:
    random.seed(123456)
    np.random.seed(123456)
    assert find_seeds(7, []) == {"torch": 7}
    assert find_seeds(67280421310721, []) == {}, "nobody has seeded torch"
    assert "numpy" in sys.modules
