"""Two runs compared for the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.viewer.asking import ask, shown_runs_of
from tests.viewer.test_runs_question import make_log
from torch_debugger.system.errors import UsageError
from torch_debugger.viewer import compared_runs as compare
from torch_debugger.viewer import compared_runs as losses


def test_the_settings_that_differ_are_told(tmp_path: Path) -> None:
    make_log(tmp_path / "one", 0.1, [1.0, 0.5, 0.25])
    make_log(tmp_path / "two, too", 0.2, [1.0, 0.5, 0.75])

    told = ask(shown_runs_of(tmp_path), "compare", runs="one,two%2C%20too")

    assert told["runs"] == ["one", "two, too"]
    assert (told["verdict"], told["step"]) == ("parted", 2)
    assert "step 2" in told["answer"]
    settings = next(topic for topic in told["topics"] if topic["name"] == "settings")
    assert {"name": "lr", "first": "0.1", "second": "0.2"} in settings["differences"]


def test_the_losses_of_all_runs_that_are_named_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, last in (("one", 0.25), ("two, too", 0.75), ("three", 0.5)):
        make_log(tmp_path / name, 0.1, [1.0, last])
    shown_runs = shown_runs_of(tmp_path)

    told = ask(shown_runs, "losses", runs="one,two%2C%20too,three")
    assert {name: loss["values"] for name, loss in told["runs"].items()} == {
        "one": [1.0, 0.25],
        "two, too": [1.0, 0.75],
        "three": [1.0, 0.5],
    }
    monkeypatch.setattr(losses, "_MOST_RUNS", 2)
    told = ask(shown_runs, "losses", runs="one,three,two%2C%20too")
    assert (list(told["runs"]), told["all"]) == (["one", "three"], 3)


def test_a_pair_that_has_not_changed_is_compared_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        make_log(tmp_path / name, 0.1, [1.0])
    made: list[object] = []
    original = compare.compared
    monkeypatch.setattr(compare, "compared", lambda *runs: made.append(runs) or original(*runs))
    shown_runs = shown_runs_of(tmp_path)

    assert ask(shown_runs, "compare", runs="one,two") == ask(shown_runs, "compare", runs="one,two")
    assert len(made) == 1


@pytest.mark.parametrize(
    ("names", "words"), [("one", "1 were named"), ("one,../one", "no run"), ("one,two,three", "3 were named")]
)
def test_what_is_no_pair_of_known_runs_is_refused(tmp_path: Path, names: str, words: str) -> None:
    for name in ("one", "two", "three"):
        make_log(tmp_path / name, 0.1, [1.0])
    with pytest.raises(UsageError, match=words):
        ask(shown_runs_of(tmp_path), "compare", runs=names)


def test_logs_too_large_to_compare_are_refused_with_a_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        make_log(tmp_path / name, 0.1, [1.0])
    monkeypatch.setattr(compare, "_LARGEST_LOGS", 10)
    with pytest.raises(UsageError, match="torch-debugger diff"):
        ask(shown_runs_of(tmp_path), "compare", runs="one,two")
