"""Ranks that the script starts itself: they end with the bits of a plain run, and each is told of."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.ranks.running import SCRIPTS, Done, run, same, watched

RANKS = 2


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """Which way the ranks are started makes no difference to what they compute and print."""
    return run(tmp_path_factory.mktemp("plain"), [sys.executable, str(SCRIPTS / "spawned.py"), "fork", ""])


@pytest.mark.parametrize("way", ["spawn", "fork"])
def test_ranks_end_with_the_same_bits_and_are_told_of(tmp_path: Path, plain: Done, way: str) -> None:
    ours = run(tmp_path / "ours", [sys.executable, *watched("spawned.py", way, "")])
    assert (plain.code, plain.out) == (ours.code, ours.out) == (0, ours.out), ours.err
    assert same(plain.weights(), ours.weights())
    assert len(ours.weights()) == RANKS
    told = [(each["rank"], each["steps"], each["outcome"], each["exit_code"]) for each in ours.result["ranks"]]
    assert told == [(rank, 24, "finished", 0) for rank in range(RANKS)]
    assert ours.result["cost"]["probes_removed"] == []
    named = [name for name in ours.logs if ".rank" in name]
    assert len(named) == RANKS  # neither the workers of loaders nor the process beside the ranks


def test_a_rank_that_fails_is_explained_by_itself(tmp_path: Path) -> None:
    ours = run(tmp_path / "ours", [sys.executable, *watched("spawned.py", "torch-fork", "crash")])
    assert ours.code == 1
    assert (ours.verdict["name"], ours.verdict["ranks"]) == ("unexplained-crash", [1])
    home = [finding for finding in ours.result["findings"] if finding["name"] == "spawned-process-failed"]
    assert [finding["symptom_of"] for finding in home] == [0]
    assert "torch_debugger" not in ours.err.split("-- Process 1 terminated")[1].split("\n\n\n")[0]
