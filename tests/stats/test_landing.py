"""Places are used again: what is freed asks a device that may be dead."""

from __future__ import annotations

import pytest
import torch

from torch_debugger.stats import transfer as landing


@pytest.fixture(autouse=True)
def pageable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A torch without CUDA has no pinned memory."""
    empty = torch.empty
    monkeypatch.setattr(torch, "empty", lambda *sizes, pin_memory, **keywords: empty(*sizes, **keywords))
    monkeypatch.setattr(landing, "_spare", [])


def test_a_place_that_was_given_back_is_used_again() -> None:
    place = landing.take(10)
    landing.give_back(place)
    assert landing.take(1000) is place


def test_one_that_is_in_use_is_not() -> None:
    assert landing.take(10) is not landing.take(10)


def test_one_that_is_too_small_is_not() -> None:
    small = landing.take(10)
    landing.give_back(small)
    large = landing.take(5000)
    assert large is not small and large.numel() >= 5000
    assert landing.take(3) is small
