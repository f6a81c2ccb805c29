"""The ranks of a run side by side, from each one's own file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.runlog.logs import write
from tests.viewer.asking import ask, shown_runs_of
from torch_debugger.records import EndFact, RankEnd, RankFact, RunFact, Scalars
from torch_debugger.system.errors import UsageError


def write_rank(folder: Path, rank: int, norms: list[float], ended: bool = True) -> None:
    began = RunFact("train.py", (), "", 1, 1_700_000_000.0, "3", "2", "cpu", "0", 0.02, False)
    points = [
        Scalars(step, 1_700_000_000.0 + step, {"loss": 1.0 + rank, "weight_norm": norm, "time/step_s": 0.1})
        for step, norm in enumerate(norms, start=1)
    ]
    end = [EndFact("finished", len(norms), "optimizer steps")] if ended else []
    write(folder, [began, *points, *end], rank=rank)


def ranks(folder: Path) -> Any:
    return ask(shown_runs_of(folder), "ranks", run="run")


def test_each_rank_has_its_own_numbers(tmp_path: Path) -> None:
    write_rank(tmp_path / "run", 0, [1.0, 2.0, 3.0])
    write_rank(tmp_path / "run", 1, [1.0, 2.0], ended=False)

    told = ranks(tmp_path)

    assert [(row["rank"], row["loss"], row["last_step"]) for row in told["ranks"]] == [(0, 1.0, 3), (1, 2.0, 2)]
    assert told["ranks"][0]["status"] == "finished"
    assert [row["weight_norm"] for row in told["ranks"]] == [2.0, 2.0], "at the last step that both have"
    assert told["weights"]["last_step"] == 2
    assert told["ranks"][0]["wait_s"] is None


@pytest.mark.parametrize(
    ("odd", "first_apart", "names"),
    [
        ([1.0, 2.0, 3.0], None, []),
        ([1.0, 2.00001, 3.0], None, []),
        ([1.0, 2.5, 3.5], 2, [2]),
        ([1.0, float("nan"), float("nan")], 2, [2]),
    ],
)
def test_a_rank_whose_weights_leave_the_others_is_named(
    tmp_path: Path, odd: list[float], first_apart: int | None, names: list[int]
) -> None:
    for rank, norms in enumerate([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], odd]):
        write_rank(tmp_path / "run", rank, norms)

    weights = ranks(tmp_path)["weights"]

    assert (weights["first_apart"], weights["ranks"], weights["steps"]) == (first_apart, names, 3)


@pytest.mark.parametrize("lost", [float("nan"), float("inf")])
def test_weights_that_are_lost_on_all_ranks_alike_have_not_parted(tmp_path: Path, lost: float) -> None:
    for rank in range(2):
        write_rank(tmp_path / "run", rank, [1.0, lost])
    assert ranks(tmp_path)["weights"]["first_apart"] is None


def test_the_curves_of_one_rank_are_its_own(tmp_path: Path) -> None:
    for rank in range(2):
        write_rank(tmp_path / "run", rank, [1.0, 2.0])

    told = ask(shown_runs_of(tmp_path), "rank_curves", run="run", rank="1")

    assert told["curves"][0] == {"tag": "loss", "steps": [1, 2], "values": [2.0, 2.0]}
    with pytest.raises(UsageError, match="no rank 7"):
        ask(shown_runs_of(tmp_path), "rank_curves", run="run", rank="7")


def test_ranks_that_hold_parts_of_the_weights_are_not_held_against_each_other(tmp_path: Path) -> None:
    for rank, norm in enumerate((1.0, 2.0)):
        write_rank(tmp_path / "run", rank, [norm, norm])
        write(tmp_path / "run", [RankFact(rank, rank, 2, "gloo", "far", 7, sharded=True)], rank=rank)

    told = ranks(tmp_path)

    assert told["weights"] is None
    assert [row["host"] for row in told["ranks"]] == ["far", "far"]


@pytest.mark.parametrize(("code", "status"), [(137, "killed"), (143, "stopped")])
def test_a_rank_without_a_last_word_has_the_end_that_was_seen(tmp_path: Path, code: int, status: str) -> None:
    for rank in range(2):
        write_rank(tmp_path / "run", rank, [1.0, 2.0], ended=not rank)
    write(tmp_path / "run", [RankEnd(1, code, 1_700_000_009.0, 2)], rank=1)

    assert ranks(tmp_path)["ranks"][1]["status"] == status
