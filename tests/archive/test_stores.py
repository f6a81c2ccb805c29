"""Runs in an object store are read like those of a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from tests.archive.test_run import RESULT
from tests.runlog.logs import event_file, scalars, write
from torch_debugger.log.run import Run
from torch_debugger.log.runs import runs
from torch_debugger.system.errors import DebuggerError

URL = "memory://archive/runs"


@pytest.fixture(autouse=True)
def _empty_store() -> Iterator[None]:
    yield
    store = fsspec.filesystem("memory")
    if store.exists("/archive"):
        store.rm("/archive", recursive=True)


def put(name: str, data: bytes) -> None:
    fsspec.filesystem("memory").pipe_file(f"/archive/runs/{name}", data)


def log_bytes(folder: Path, steps: int) -> bytes:
    write(folder, [scalars(step, "loss") for step in range(steps)])
    return event_file(folder).read_bytes()


def test_runs_below_a_url(tmp_path: Path) -> None:
    put("a/events.out.tfevents.1700000000.host", log_bytes(tmp_path / "a", 20))
    put("deep/b/events.out.tfevents.1700000001.host", log_bytes(tmp_path / "b", 5))
    put("deep/b/result.json", json.dumps(RESULT).encode())
    put("deep/b/checkpoint.pt", b"large")

    found = runs(URL)

    assert found.names == ["a", "deep/b"]
    assert found["a"].scalars("loss").steps.tolist() == list(range(20))
    assert found["deep/b"].verdict is not None and found["deep/b"].folder == f"{URL}/deep/b"
    assert found.found[0].changed == 1_700_000_000.0
    copied = Path(found["deep/b"]._place.path)
    assert found["a"].changed == 1_700_000_019.25 and found["a"].status == "unknown"
    assert not (copied / "checkpoint.pt").exists() and (copied / "result.json").exists()


def test_a_stored_run_that_grows(tmp_path: Path) -> None:
    data = log_bytes(tmp_path / "a", 50)
    put("events.out.tfevents.1", data[:700])
    run = Run(URL)
    before = len(run.scalars("loss"))

    put("events.out.tfevents.1", data)

    assert run.poll()
    assert before < len(run.scalars("loss")) == 50
    assert run.damage == []


def test_an_empty_place_has_no_runs() -> None:
    assert len(runs(URL)) == 0


def test_a_store_that_nobody_knows_is_said() -> None:
    with pytest.raises(DebuggerError, match="is no place that fsspec knows"):
        runs("nowhere://bucket")


def test_a_store_that_fails_later_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put("events.out.tfevents.1", log_bytes(tmp_path / "a", 5))
    run = Run(URL)
    assert len(run.scalars("loss")) == 5
    monkeypatch.setattr(type(fsspec.filesystem("memory")), "find", lambda *given, **options: 1 / 0)

    assert not run.poll()

    assert len(run.scalars("loss")) == 5
    assert run.damage == [f"{URL} could not be listed: division by zero."]
