"""While a CUDA graph is captured, every probe sleeps; afterwards they are as they were."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from torch_debugger.probes.model.torch_compile import Captured
from torch_debugger.probes.probe import Patches
from torch_debugger.probes.watch import Watch


class Capture:
    """Stands for torch.cuda.graph, which needs a GPU."""

    begins = True

    def __enter__(self) -> None:
        if not self.begins:
            raise RuntimeError("cannot capture here")

    def __exit__(self, *error: Any) -> None:
        return None


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    class Fresh(Capture):
        pass

    monkeypatch.setattr(torch.cuda, "graph", Fresh)
    watch = Watch()
    watch.active = True
    return watch


def test_probes_sleep_until_it_is_over(watch: Watch) -> None:
    heard: list[str] = []
    Captured(watch).install(Patches())
    with torch.cuda.graph():  # type: ignore[call-arg]
        watch.probe("any", heard.append, "inside")
    watch.probe("any", heard.append, "after")
    assert heard == ["after"]


def test_they_wake_where_it_fails(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    Captured(watch).install(Patches())
    with pytest.raises(ValueError, match="inside"), torch.cuda.graph():  # type: ignore[call-arg]
        raise ValueError("inside")
    assert watch.active
    monkeypatch.setattr(torch.cuda.graph, "begins", False)
    with pytest.raises(RuntimeError, match="cannot capture"), torch.cuda.graph():  # type: ignore[call-arg]
        pass
    assert watch.active


def test_a_watch_that_slept_before_sleeps_on(watch: Watch) -> None:
    Captured(watch).install(Patches())
    with watch.asleep():
        with torch.cuda.graph():  # type: ignore[call-arg]
            pass
        assert not watch.active
    assert watch.active


def test_everything_is_put_back(watch: Watch) -> None:
    before = torch.cuda.graph.__enter__, torch.cuda.graph.__exit__
    patches = Patches()
    Captured(watch).install(patches)
    assert torch.cuda.graph.__enter__ is not before[0]
    patches.restore()
    assert (torch.cuda.graph.__enter__, torch.cuda.graph.__exit__) == before
