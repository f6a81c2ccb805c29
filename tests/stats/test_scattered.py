"""A few elements from all over a tensor: the same at each look, and never one column only."""

from __future__ import annotations

import pytest
import torch

from torch_debugger.stats.summary import Scattered, step_through


@pytest.mark.parametrize("shape", [(64, 64), (4096, 784), (1023,), (32, 32)])
def test_every_column_is_met(shape: tuple[int, ...]) -> None:
    columns = torch.arange(shape[-1]).expand(shape).contiguous()
    met = Scattered(512).copy(columns)
    assert len(met) == 512 and len(met.unique()) >= min(512, shape[-1]) * 0.6


def test_small_tensors_are_whole_and_copies() -> None:
    tensor = torch.arange(6.0).reshape(2, 3)
    found = Scattered(512).copy(tensor)
    found += 1
    assert tensor.reshape(-1).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert found.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


@pytest.mark.parametrize("make", [lambda t: t.t(), lambda t: t[:, ::2], lambda t: t[:1].expand(64, 128)])
def test_any_layout(make: object) -> None:
    tensor = make(torch.arange(64.0 * 128).reshape(64, 128))  # type: ignore[operator]
    one, other = Scattered(100).copy(tensor), Scattered(100).copy(tensor)
    assert torch.equal(one, other) and set(one.tolist()) <= set(tensor.flatten().tolist())


@pytest.mark.parametrize("count", [513, 1024, 9_999, 2**20])
def test_no_element_comes_twice(count: int) -> None:
    assert len({place * step_through(count) % count for place in range(512)}) == 512
