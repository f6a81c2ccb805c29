"""Every rank of torchrun watched: one folder, one report, and the codes that torchrun would have seen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.ranks.running import SCRIPTS, Done, run, torchrun, watched
from torch_debugger.archive.run import Run


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return run(tmp_path_factory.mktemp("healthy"), [*torchrun(2), *watched("ddp.py")])


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return run(tmp_path_factory.mktemp("crashed"), [*torchrun(2), *watched("ddp.py", "crash:1")])


def test_one_report_for_all(healthy: Done) -> None:
    said = re.split(r"(?<=has trained)\n*", healthy.out.strip())  # both write to one pipe, a newline by itself
    assert (healthy.code, sorted(said)) == (0, ["", "rank 0 has trained", "rank 1 has trained"])
    assert healthy.err.count("Nothing wrong found") == 1
    assert healthy.err.count("2 ranks (gloo): all finished after 60 steps") == 1


def test_one_folder_with_a_file_of_each_rank(healthy: Done) -> None:
    ranks = [re.findall(r"\.rank(\d)\.", name) for name in healthy.logs if "tfevents" in name]
    assert sorted(rank for found in ranks for rank in found) == ["0", "0", "1", "1"]
    assert {"result.json", "report.md"} < set(healthy.logs)
    run_ = Run(healthy.log_folder)
    assert sorted(run_.ranks) == [0, 1]
    assert [part.steps for part in run_.ranks.values()] == [60, 60]


def test_the_result_tells_of_each_rank(healthy: Done) -> None:
    first, second = healthy.result["ranks"]
    assert [first["rank"], second["rank"]] == [0, 1]
    assert first["pid"] != second["pid"]
    for each in (first, second):
        told = {key: each[key] for key in ("world_size", "backend", "steps", "outcome", "exit_code")}
        assert told == {"world_size": 2, "backend": "gloo", "steps": 60, "outcome": "finished", "exit_code": 0}


def test_the_rank_that_failed_is_the_verdict(crashed: Done) -> None:
    assert crashed.code == 1
    assert crashed.result["outcome"] == "crashed"
    assert (crashed.verdict["name"], crashed.verdict["ranks"]) == ("unexplained-crash", [1])
    assert "a sample that cannot be read" in crashed.verdict["message"]
    others = [finding for finding in crashed.result["findings"] if finding["ranks"] != [1]]
    assert all(finding["symptom_of"] == 0 for finding in others)
    assert "on rank 1" in crashed.err


def test_what_the_ranks_print_is_theirs(crashed: Done) -> None:
    assert crashed.err.count("[rank1]: ValueError: a sample that cannot be read") == 1
    assert crashed.err.count("error: unexplained-crash") == 1


@pytest.mark.parametrize("fault", ["crash:1", "kill:1"])
def test_torchrun_sees_the_same_codes(tmp_path: Path, fault: str) -> None:
    plain = run(tmp_path / "plain", [*torchrun(2), str(SCRIPTS / "ddp.py"), fault])
    ours = run(tmp_path / "ours", [*torchrun(2), *watched("ddp.py", fault)])
    assert plain.code == ours.code == 1
    codes = [re.findall(r"Root Cause.*?exitcode  : (\S+)", each.err, re.DOTALL) for each in (plain, ours)]
    assert codes[0] == codes[1] != []
    if fault.startswith("kill"):
        assert (ours.verdict["name"], ours.verdict["evidence"]["rank"]) == ("rank-killed", 1)
        assert ours.verdict["evidence"]["steps"] == 41
