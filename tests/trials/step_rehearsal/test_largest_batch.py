"""The search for the largest batch: against a plain walk, and with few tries."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from torch_debugger.trials.step_rehearsal import BatchSearch, NoLimitError
from torch_debugger.trials.step_to_rehearse import batch_of


def straight(batch: int) -> int:
    return 1000 + 7 * batch


def flat_then_straight(batch: int) -> int:
    """While the optimizer's step is the peak, the batch does not count."""
    return max(3000, straight(batch))


def in_segments(batch: int) -> int:
    return -(-(10**6 + 7 * 10**3 * batch) // 2**21) * 2**21


@pytest.mark.parametrize("begin", [1, 8, 500, 5000])
@pytest.mark.parametrize(
    ("need", "limit"),
    [
        (straight, 5000),
        (straight, 1010),
        (straight, 900),
        (flat_then_straight, 5000),
        (in_segments, 24 * 10**6),
    ],
)
def test_the_answer_fits_and_little_more_does_not(need: Callable[[int], int], limit: int, begin: int) -> None:
    search = BatchSearch(need, limit)
    found = search.largest(begin)
    assert found == 0 or need(found) <= limit
    assert need(found + max(1, found // 100)) > limit
    assert len(search.known) <= 11


def test_a_batch_that_changes_nothing_is_told_and_not_searched_for_long() -> None:
    search = BatchSearch(lambda batch: 3000, 5000)
    with pytest.raises(NoLimitError, match="The memory is the same whatever the batch: its size may be"):
        search.largest(8)
    assert len(search.known) <= 7


def test_a_straight_line_is_verified_with_two_more_tries() -> None:
    search = BatchSearch(straight, 5000)
    assert search.largest(8) == 571
    assert len(search.known) == 4


def test_a_curve_gives_an_answer_that_fits() -> None:
    """A loss of all pairs takes memory by the square of the batch."""
    found = BatchSearch(lambda batch: 1000 + batch * batch, 50_000).largest(8)
    assert 200 <= found <= 221


def test_memory_that_hardly_grows_is_said() -> None:
    with pytest.raises(NoLimitError, match="still fits, and larger ones were not tried"):
        BatchSearch(lambda batch: 1000 + (batch > 100), 5000).largest(8)


def test_the_batch_is_the_first_dimension_that_all_share() -> None:
    assert batch_of([nn.Linear(4, 4)], [torch.zeros(8, 4), {"labels": torch.zeros(8)}]) == (8, "")


@pytest.mark.parametrize(
    ("model", "values", "said"),
    [
        (nn.Linear(4, 4), [torch.zeros(8, 4), torch.zeros(5)], "different first dimensions (8 and 5)"),
        (nn.Linear(4, 4), [3], "no tensor with a first dimension"),
        (nn.LSTM(4, 4), [torch.zeros(20, 8, 4)], "may be time: the model holds nn.LSTM with batch_first=False"),
    ],
)
def test_a_batch_that_cannot_be_told_is_refused(model: nn.Module, values: list[object], said: str) -> None:
    batch, why = batch_of([model], values)
    assert batch == 0
    assert said in why
