from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from torch_debugger.probes.speed import PassCount
from torch_debugger.records import RowPasses, TakenRows
from torch_debugger.source.row_loops import row_loop_at

layer = nn.Linear(3, 2)
norm = nn.BatchNorm1d(3)


def half(row: torch.Tensor) -> torch.Tensor:
    return row / 2


def collected(x: torch.Tensor) -> Any:
    rows = []
    for i in range(x.size(0)):
        row = layer(x[i])
        rows.append(torch.relu(row))
    return torch.stack(rows)


def stacked(x: torch.Tensor) -> Any:
    return torch.stack([layer(x[i]) for i in range(len(x))])


def stacked_on_several_lines(x: torch.Tensor) -> Any:
    return torch.stack(
        [
            layer(x[i])  # one row
            for i in range(len(x))
        ]
    )


def added(x: torch.Tensor) -> Any:
    total = torch.zeros(())
    for row in x:
        total += row.sum()
    return total


def over_a_list(x: torch.Tensor) -> Any:
    rows = list(x)
    return torch.stack([layer(row) for row in rows])


def with_a_function_of_ones_own(x: torch.Tensor) -> Any:
    return torch.stack([half(row) for row in x])


def normalised(x: torch.Tensor) -> Any:
    return torch.stack([norm(x[i : i + 1]) for i in range(len(x))])


def counted(function: Callable[[torch.Tensor], Any], line: int, most: int = 2000) -> RowPasses | None:
    first = function.__code__.co_firstlineno
    loop = row_loop_at(__file__, first + line)
    assert loop is not None
    count = PassCount(__file__, loop, most)
    x = torch.ones(40, 3)
    plain = function(x)
    count.start()
    try:
        seen = function(x)
    finally:
        count.stop()
    assert count.fault is None and sys.gettrace() is None
    assert torch.equal(plain, seen)
    return count.told(7) if count.taken else None


def test_passes_are_counted_and_what_they_take_apart_is_told() -> None:
    found = counted(collected, 3)
    assert found is not None
    assert found.place.code == "for i in range(x.size(0)):"
    assert (found.passes, found.taken) == (40, (TakenRows("x", (40, 3), 0),))
    assert found.is_differentiated and not found.sums_up


def test_comprehensions_are_counted_about_right() -> None:
    for function, line in ((stacked, 1), (stacked_on_several_lines, 3)):
        found = counted(function, line)
        assert found is not None and 38 <= found.passes <= 41


def test_rows_without_gradients() -> None:
    found = counted(added, 3)
    assert found is not None and found.sums_up and not found.is_differentiated
    assert found.passes == 40


def test_counting_ends_early_where_there_are_many() -> None:
    found = counted(collected, 3, most=10)
    assert found is not None and found.passes == 10


def test_lists_own_functions_and_layers_that_look_at_the_batch_are_left_alone() -> None:
    assert counted(over_a_list, 2) is None
    assert counted(with_a_function_of_ones_own, 1) is None
    norm.eval()
    assert counted(normalised, 1) is None
