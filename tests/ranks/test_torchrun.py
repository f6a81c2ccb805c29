"""Every rank of torchrun watched: one folder, one report, the weights and the codes of a plain run."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from tests.ranks.running import SCRIPTS, Done, logs_are_whole, run, same, torchrun, watched
from torch_debugger.log.run import Run

RANKS = 4


class Pair(NamedTuple):
    plain: Done
    ours: Done


def pair(folders: pytest.TempPathFactory, ranks: int, script: str, *arguments: str) -> Pair:
    plain = run(folders.mktemp("plain"), [*torchrun(ranks), str(SCRIPTS / script), *arguments])
    return Pair(plain, run(folders.mktemp("ours"), [*torchrun(ranks), *watched(script, *arguments)]))


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return pair(tmp_path_factory, RANKS, "ddp.py")


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return pair(tmp_path_factory, 2, "ddp.py", "crash:1")


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return pair(tmp_path_factory, 2, "ddp.py", "kill:1")


def ends_with_the_same_bits(pair: Pair, ranks: int) -> None:
    assert (pair.plain.code, pair.ours.code) == (0, 0), pair.ours.err
    assert len(pair.ours.weights()) == ranks
    assert same(pair.plain.weights(), pair.ours.weights())
    assert pair.ours.result["cost"]["probes_removed"] == []
    assert [each["name"] for each in pair.ours.result["findings"] if each["severity"] != "note"] == []


def test_replicas_end_with_the_same_bits(healthy: Pair) -> None:
    ends_with_the_same_bits(healthy, RANKS)


def test_shards_end_with_the_same_bits_and_without_one_collective_more(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    ends_with_the_same_bits(pair(tmp_path_factory, 2, "fsdp.py"), 2)


def test_one_report_for_all(healthy: Pair) -> None:
    ours = healthy.ours
    said = re.split(r"(?<=has trained)\n*", ours.out.strip())  # all write to one pipe, a newline by itself
    assert (ours.code, sorted(said)) == (0, ["", *(f"rank {rank} has trained" for rank in range(RANKS))])
    assert ours.err.count("Nothing wrong found") == 1
    assert ours.err.count(f"{RANKS} ranks (gloo): all finished after 60 steps") == 1


def test_one_folder_with_a_file_of_each_rank(healthy: Pair) -> None:
    ranks = [re.findall(r"\.rank(\d)\.", name) for name in healthy.ours.logs if "tfevents" in name]
    assert sorted(int(rank) for found in ranks for rank in found) == sorted([*range(RANKS)] * 2)
    assert {"result.json", "report.md"} < set(healthy.ours.logs)
    run_ = Run(healthy.ours.log_folder)
    assert sorted(run_.ranks) == [*range(RANKS)]
    assert [part.steps for part in run_.ranks.values()] == [60] * RANKS


def test_the_result_tells_of_each_rank(healthy: Pair) -> None:
    told = healthy.ours.result["ranks"]
    assert [each["rank"] for each in told] == [*range(RANKS)]
    assert len({each["pid"] for each in told}) == RANKS
    for each in told:
        words = {key: each[key] for key in ("world_size", "backend", "steps", "outcome", "exit_code")}
        assert words == {
            "world_size": RANKS, "backend": "gloo", "steps": 60, "outcome": "finished", "exit_code": 0
        }  # fmt: skip


def test_the_rank_that_failed_is_the_verdict(crashed: Pair) -> None:
    ours = crashed.ours
    assert ours.result["outcome"] == "crashed"
    assert (ours.verdict["name"], ours.verdict["ranks"]) == ("unexplained-crash", [1])
    assert "a sample that cannot be read" in ours.verdict["message"]
    others = [finding for finding in ours.result["findings"] if finding["ranks"] != [1]]
    assert all(finding["symptom_of"] == 0 for finding in others)
    assert "on rank 1" in ours.err


def test_what_the_ranks_print_is_theirs(crashed: Pair) -> None:
    assert crashed.ours.err.count("[rank1]: ValueError: a sample that cannot be read") == 1
    assert crashed.ours.err.count("error: unexplained-crash") == 1


def test_a_rank_that_is_killed_is_told_of_by_the_first(killed: Pair) -> None:
    ours = killed.ours
    assert (ours.verdict["name"], ours.verdict["evidence"]["rank"]) == ("rank-killed", 1)
    assert ours.verdict["evidence"]["steps"] == 41
    assert len(ours.result["ranks"]) == 2
    logs_are_whole(ours)


@pytest.mark.parametrize("fault", ["crashed", "killed"])
def test_torchrun_sees_the_same_codes(fault: str, request: pytest.FixtureRequest) -> None:
    plain, ours = request.getfixturevalue(fault)
    assert plain.code == ours.code == 1
    codes = [re.findall(r"Root Cause.*?exitcode  : (\S+)", each.err, re.DOTALL) for each in (plain, ours)]
    assert codes[0] == codes[1] != [], plain.err[-2000:]
