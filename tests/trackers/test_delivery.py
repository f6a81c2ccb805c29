"""A log is carried whole, whatever the tracker does meanwhile."""

from __future__ import annotations

import queue
from pathlib import Path

import pytest

from tests.trackers.runs import ending, write_log
from torch_debugger.integrations import delivery
from torch_debugger.integrations.delivery import Delivery, Ending, Endings, run_name
from torch_debugger.integrations.tracker_data import NAMES, Parcel


class Book:
    """A receiver that writes down what it gets, and fails as often as it is told to."""

    place = "on the desk"
    takes: frozenset[type] = frozenset(NAMES)

    def __init__(self, failures: int = 0, failing: str = "take") -> None:
        self.failures = failures
        self.failing = failing
        self.deeds: list[str] = []
        self.steps: list[int] = []

    def open(self, name: str) -> None:
        self._do("open")

    def take(self, parcel: Parcel) -> None:
        self._do("take")
        self.steps += [point.step for point in parcel.points]

    def close(self, ending: Ending) -> None:
        self._do("close")

    def _do(self, deed: str) -> None:
        if deed == self.failing and self.failures:
            self.failures -= 1
            raise ConnectionError("the server is away\nand a long story")
        self.deeds.append(deed)


class Later(queue.SimpleQueue[Ending]):
    """An ending that comes after some looks at the log."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def get(self, block: bool = True, timeout: float | None = None) -> Ending:
        self.looks -= 1
        if self.looks >= 0:
            raise queue.Empty
        return ending()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_log(tmp_path)
    return tmp_path


def carried(book: Book, folder: Path, endings: Endings) -> list[str]:
    said: list[str] = []
    Delivery("W&B", book, "train", said.append).carry(str(folder), endings)
    return said


def test_a_run_is_opened_filled_and_closed_once(folder: Path) -> None:
    book = Book()
    assert carried(book, folder, Later(3)) == ["W&B has the run: on the desk"]
    assert (book.deeds, book.steps) == (["open", "take", "take", "close"], [1, 2, 3, 4, 5, 2])


def test_a_training_faster_than_its_tracker_is_thinned_and_that_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "_MOST_POINTS", 2)
    book = Book()
    assert carried(book, folder, Later(1)) == [
        "W&B has the run without 3 points that came too fast for it: on the desk"
    ]
    assert book.steps == [1, 4, 2]


@pytest.mark.parametrize("failing", ["open", "take"])
def test_what_could_not_be_sent_is_sent_later_and_said_once(folder: Path, failing: str) -> None:
    book = Book(failures=2, failing=failing)
    assert carried(book, folder, Later(4)) == [
        "W&B failed (ConnectionError: the server is away). It is tried again; the run goes on.",
        "W&B has the run: on the desk",
    ]
    assert book.steps == [1, 2, 3, 4, 5, 2]


@pytest.mark.parametrize("failing", ["open", "take", "close"])
def test_a_tracker_that_never_works_is_given_up_in_two_sentences(folder: Path, failing: str) -> None:
    said = carried(Book(failures=10**6, failing=failing), folder, Later(5))
    assert said == [
        "W&B failed (ConnectionError: the server is away). It is tried again; the run goes on.",
        "W&B does not have all of the run.",
    ]


def test_pauses_between_attempts_grow_and_have_an_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    def next_ending(endings: Endings, wait_s: float) -> Ending | None:
        pauses.append(wait_s)
        return ending() if len(pauses) == 10 else None

    monkeypatch.setattr(delivery, "_next", next_ending)
    carried(Book(failures=10**6), folder, Later(0))
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60]


def test_a_run_without_a_single_step_still_gets_its_report(tmp_path: Path) -> None:
    book = Book()
    carried(book, tmp_path, Later(2))
    assert book.deeds == ["open", "take", "close"]


def test_the_name_of_a_run_says_that_it_is_ours() -> None:
    assert run_name("/home/user/train.py") == "train (torch-debugger)"
    assert run_name("package.module") == "package.module (torch-debugger)"
