from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

from torch_debugger.model.tensor_memory import graph_containers as hoards
from torch_debugger.model.tensor_memory import steps_behind
from torch_debugger.records import Place
from torch_debugger.source.assignments import addition_to, carried_over
from torch_debugger.source.variables import variables_in_reach, waiting_generators, yields


class Counter:
    seen: list[int] = []  # noqa: RUF012 (what a user writes)

    def __init__(self) -> None:
        self.values = [1]


def closing_over() -> Callable[[int], None]:
    kept: list[int] = [3]

    def add(value: int) -> None:
        kept.append(value)

    return add


def test_what_lies_in_objects_closures_classes_and_lists_is_found() -> None:
    counter, callbacks, log = Counter(), [Counter()], closing_over()
    numbers = defaultdict(list, {"loss": [1.0]})
    ordered = OrderedDict(a=[2])
    found = dict(variables_in_reach(sys._getframe()))
    assert found["counter.values"] is counter.values
    assert found["callbacks[0].values"] is callbacks[0].values
    assert found["Counter.seen"] is Counter.seen
    assert found["kept"] == [3]
    assert found["numbers['loss']"] == [1.0] and found["ordered['a']"] == [2]
    assert callable(log) and numbers and ordered


def test_a_key_that_is_no_text_and_no_number_is_not_asked_for_its_text() -> None:
    class Key:
        def __repr__(self) -> str:
            raise AssertionError("code of the user's ran")

    state = {Key(): [1], "plain": [2]}
    assert dict(variables_in_reach(sys._getframe()))["state['plain']"] == [2]
    assert len(state) == 2


def test_a_generator_that_waits_is_found_without_a_variable() -> None:
    def steps() -> Iterator[int]:
        losses = [1.5]
        yield 1
        yield len(losses)

    for number in steps():
        waiting = [generator() for generator in waiting_generators()]
        found = dict(variables_in_reach(sys._getframe(), waiting))
        assert found["losses"] == [1.5] and number
        break
    assert yields(__file__)


def test_a_dictionary_that_grows_is_a_hoard() -> None:
    net = nn.Linear(2, 2)
    cache = {step: net(torch.ones(1, 2)) for step in range(3)}
    (hoard,) = hoards([("cache", cache), ("numbers", {1: 2})])
    assert (hoard.name, hoard.count) == ("cache", 3) and hoard.oldest is cache[0]


def test_a_chain_reaches_back_as_many_steps_as_it_went_through() -> None:
    net, starts = nn.Linear(4, 4), [0]
    h = torch.zeros(1, 4)
    for _ in range(5):
        h = torch.tanh(net(h))
        starts.append(torch._C._autograd._get_sequence_nr())  # type: ignore[attr-defined]
    assert steps_behind(h, starts) == 5
    assert steps_behind(torch.tanh(net(h.detach())), starts) == 1
    assert steps_behind(torch.zeros(1), starts) == 0


SOURCE = """
h = cell(x, h)
out, state = rnn(x, state)
cut = cell(x, cut.detach())
running = loss if running is None else 0.9 * running + loss
fresh = cell(x)
class Log:
    @classmethod
    def add(cls, loss):
        cls.losses.append(loss)
"""


def test_statements_that_carry_a_value_on(tmp_path: Any) -> None:
    file = tmp_path / "train.py"
    file.write_text(SOURCE)
    lines = {name: carried_over(str(file), name) for name in ("h", "state", "cut", "running", "fresh")}
    assert {name: place.line if place else None for name, place in lines.items()} == {
        "h": 2, "state": 3, "cut": None, "running": 5, "fresh": None,
    }  # fmt: skip
    place, added = addition_to(str(file), "Log.losses")
    assert (place.line, added) == (10, "loss")


def test_an_addition_to_an_entry_whose_key_the_source_has_by_another_name(tmp_path: Path) -> None:
    file = tmp_path / "meters.py"
    file.write_text(
        "class Meters:\n"
        "    def __init__(self, names):\n"
        "        for name in names:\n"
        "            self.records[name] = []\n"
        "    def push(self, **values):\n"
        "        for key, value in values.items():\n"
        "            self.total[key] = self.total[key] + value\n"
        "            self.records[key].append(value)\n"
    )
    assert [addition_to(str(file), f"meters.{name}['loss']")[0].line for name in ("total", "records")] == [7, 8]
    assert addition_to(str(file), "meters.other['loss']") == (Place(), "")
