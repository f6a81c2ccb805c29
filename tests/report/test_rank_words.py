"""The ranks of a run in one sentence."""

from __future__ import annotations

import dataclasses

from torch_debugger.report.result import RankResult
from torch_debugger.report.sentences import ranks_sentence

RANK = RankResult(0, 0, 4, "gloo", "here", 100, 12, "finished", 0)


def ranks(*changes: dict[str, object]) -> list[RankResult]:
    return [dataclasses.replace(RANK, rank=rank, **change) for rank, change in enumerate(changes)]  # type: ignore[arg-type]


def test_all_alike() -> None:
    assert ranks_sentence(ranks({}, {}, {}, {})) == "4 ranks (gloo): all finished after 12 steps"


def test_one_that_failed_and_those_that_followed() -> None:
    ended = {"outcome": "stopped", "exit_code": 143}
    crashed = {"outcome": "crashed", "exit_code": 1, "steps": 1}
    assert ranks_sentence(ranks(ended, crashed, ended, ended)) == (
        "4 ranks (gloo): ranks 0 and 2-3 were ended by SIGTERM after 12 steps, rank 1 crashed after 1 step"
    )


def test_one_that_was_killed_and_one_that_nobody_saw_end() -> None:
    killed = {"outcome": "crashed", "exit_code": 137}
    lost = {"outcome": "unknown", "exit_code": None, "host": "there", "backend": ""}
    assert ranks_sentence(ranks(killed, lost)) == (
        "2 of 4 ranks on 2 hosts (gloo): rank 0 was ended by SIGKILL after 12 steps, "
        "rank 1 left no end in its log after 12 steps"
    )
