"""Four ranks end with the same bits, watched or not, and without one collective more."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.ranks.running import SCRIPTS, run, torchrun, watched


def same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@pytest.mark.parametrize("script", ["ddp.py", "fsdp.py"])
def test_by_torchrun(tmp_path: Path, script: str) -> None:
    plain = run(tmp_path / "plain", [*torchrun(4), str(SCRIPTS / script)])
    ours = run(tmp_path / "ours", [*torchrun(4), *watched(script)])
    assert (plain.code, ours.code) == (0, 0), ours.err
    assert len(ours.weights()) == 4
    assert same(plain.weights(), ours.weights())
    assert ours.result["cost"]["probes_removed"] == []
    assert [finding["name"] for finding in ours.result["findings"] if finding["severity"] != "note"] == []


@pytest.mark.parametrize("way", ["spawn", "process-spawn", "process-fork"])
def test_by_the_script_itself(tmp_path: Path, way: str) -> None:
    plain = run(tmp_path / "plain", [sys.executable, str(SCRIPTS / "spawned.py"), way, ""])
    ours = run(tmp_path / "ours", [sys.executable, *watched("spawned.py", way, "")])
    assert (plain.code, plain.out) == (ours.code, ours.out) == (0, ours.out), ours.err
    assert same(plain.weights(), ours.weights())
    assert len(ours.weights()) == 4
    told = [(each["rank"], each["steps"], each["outcome"], each["exit_code"]) for each in ours.result["ranks"]]
    assert told == [(rank, 24, "finished", 0) for rank in range(4)]
    assert ours.result["cost"]["probes_removed"] == []
    named = [name for name in ours.logs if ".rank" in name]
    assert len(named) == 4  # neither the workers of loaders nor the process beside the ranks


def test_a_rank_that_fails_is_explained_by_itself(tmp_path: Path) -> None:
    ours = run(tmp_path / "ours", [sys.executable, *watched("spawned.py", "spawn", "crash")])
    assert ours.code == 1
    assert (ours.verdict["name"], ours.verdict["ranks"]) == ("unexplained-crash", [1])
    home = [finding for finding in ours.result["findings"] if finding["name"] == "spawned-process-failed"]
    assert [finding["symptom_of"] for finding in home] == [0]
    assert "torch_debugger" not in ours.err.split("-- Process 1 terminated")[1].split("\n\n\n")[0]
