"""The collectives that a rank tells of: their order, form and line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from tests.probes.watching import watched
from torch_debugger.probes.ranks_collectives import Collectives
from torch_debugger.records import CollectivesFact


@pytest.fixture
def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Of one process, which says that there are two."""
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/meet", rank=0, world_size=1)
    monkeypatch.setattr(dist, "get_process_group_ranks", lambda group: [0, 1])
    yield
    dist.destroy_process_group()


def summed(value: torch.Tensor) -> torch.Tensor:
    dist.all_reduce(value)
    return value


def test_what_is_told_of_a_call(group: None) -> None:
    with watched() as seen:
        summed(torch.ones(3))
        dist.broadcast(torch.ones(2, 2, dtype=torch.float64), 0)
        dist.barrier()
    told = [(fact.first, fact.ranks, fact.kinds[fact.calls[-1]]) for fact in seen.of(CollectivesFact)]
    (first, ranks, total), (_, _, sent), (last, _, wait) = told
    assert (first, last, ranks) == (1, 3, ((0, 1),))
    assert (total.op, total.shape, total.dtype) == ("all_reduce", (3,), "float32")
    assert total.place.code == "dist.all_reduce(value)"
    assert total.caller.code == "summed(torch.ones(3))"
    assert (sent.op, sent.shape, sent.dtype) == ("broadcast", (2, 2), "float64")
    assert (wait.op, wait.shape, wait.dtype) == ("barrier", (), "")


def test_many_calls_are_told_together(group: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Collectives, "EVERY_S", 3600.0)  # however long these calls take
    with watched() as seen:
        for _ in range(200):
            summed(torch.ones(1))
    told = seen.of(CollectivesFact)
    numbers = [number for fact in told for number, _ in enumerate(fact.calls, fact.first)]
    assert numbers == list(range(1, 201))
    assert len(told) < Collectives.SINGLE + 10
    assert all(len(fact.kinds) == 1 for fact in told)


def test_shapes_that_never_repeat_are_given_up(group: None) -> None:
    with watched() as seen:
        for size in range(1, Collectives.KINDS + 50):
            summed(torch.ones(size))
    assert sum(len(fact.calls) for fact in seen.of(CollectivesFact)) <= Collectives.KINDS


def test_an_error_of_a_collective_is_the_users() -> None:
    with watched(), pytest.raises(ValueError, match="process group"):
        dist.all_reduce(torch.ones(1))
