"""Ranks find one folder without a word between them, and never another run's."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from torch_debugger.runner.rank_parents import RankLaunch, open_shared_folder, rank_launch
from torch_debugger.system.errors import UsageError

FIRST = RankLaunch(
    rank=0, local_rank=0, world_size=4, local_world_size=4, run_id="", restart=0, address="here:29500",
    starter="here 77 1700000000.00", started=1_700_000_000.0, by_torchrun=True,
)  # fmt: skip


def other(**changes: object) -> RankLaunch:
    return dataclasses.replace(FIRST, rank=1, local_rank=1, **changes)  # type: ignore[arg-type]


def folder(launch: RankLaunch, chosen: str | None = None) -> str:
    with open_shared_folder(launch, chosen, "train.py", keep=True) as found:
        return found


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_ranks_of_one_torchrun_share_one() -> None:
    assert folder(FIRST) == folder(other())
    assert Path(folder(FIRST)).name.startswith("train-2023111")


def test_another_torchrun_of_the_same_second_gets_its_own() -> None:
    mine, theirs = folder(FIRST), folder(other(starter="here 78 1700000000.40"))
    assert theirs == f"{mine}-2"
    assert folder(other(starter="here 78 1700000000.40")) == theirs


def test_ranks_that_are_started_anew_are_a_run_of_their_own() -> None:
    assert folder(other(restart=1)) == f"{folder(FIRST)}-restart1"


def test_machines_share_one_by_torchruns_run_id() -> None:
    spread = {"world_size": 8, "run_id": "job-7"}
    here = folder(other(**spread))
    there = folder(other(**spread, starter="there 5 1700000009.00", started=1_700_000_009.0))
    assert here == there
    assert Path(here).name == "train-job-7"


def test_a_chosen_folder_is_shared_by_one_run_only() -> None:
    assert folder(FIRST, "log") == folder(other(), "log")
    with pytest.raises(UsageError, match="log already holds the log of another run"):
        folder(other(starter="here 78 1700000000.40"), "log")


def test_a_folder_with_the_log_of_one_process_is_not_joined(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "events.out.tfevents.1").touch()
    with pytest.raises(UsageError, match="already holds the log of another run"):
        folder(FIRST, "log")


def test_an_address_alone_does_not_join_a_run_that_is_over(tmp_path: Path) -> None:
    spread = other(world_size=8)
    (Path(folder(spread, "log")) / "result.json").touch()
    with pytest.raises(UsageError):
        folder(spread, "log")
    assert folder(other(world_size=8, run_id="job-8"), "other") == str(tmp_path / "other")


def test_a_shell_that_starts_ranks_again_starts_another_run() -> None:
    first = folder(other(by_torchrun=False))
    assert folder(other(by_torchrun=False)) == first
    (Path(first) / "result.json").touch()
    assert folder(other(by_torchrun=False)) == f"{first}-2"


def test_a_folder_that_is_not_kept_goes_with_the_first_rank() -> None:
    with open_shared_folder(FIRST, None, "train.py", keep=False) as first:
        with open_shared_folder(other(), None, "train.py", keep=False) as second:
            assert first == second
        assert Path(first).exists()
    assert not Path(first).exists()


def test_an_object_store_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="The ranks of one run share a folder, and s3://bucket/x is none"):
        folder(FIRST, "s3://bucket/x")


def test_what_torchrun_says_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {
        "RANK": "5", "LOCAL_RANK": "1", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4", "MASTER_ADDR": "node0",
        "MASTER_PORT": "29500", "TORCHELASTIC_RUN_ID": "job 7/a", "TORCHELASTIC_RESTART_COUNT": "2",
    }  # fmt: skip
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    launch = rank_launch()
    assert launch is not None
    assert (launch.rank, launch.local_rank, launch.world_size, launch.restart) == (5, 1, 8, 2)
    assert (launch.run_id, launch.address, launch.is_on_one_machine) == ("job_7_a", "node0:29500", False)
    assert launch.neighbours == {4, 6, 7}
    assert not launch.is_first


@pytest.mark.parametrize("world", ["", "1", "many"])
def test_a_program_of_one_process_is_no_rank(monkeypatch: pytest.MonkeyPatch, world: str) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", world)
    assert rank_launch() is None
