"""The watchdog's thread, tick by tick, over a training that is made up."""

from __future__ import annotations

from typing import Any

from torch_debugger.ranks.hangs.asking import Asking
from torch_debugger.ranks.hangs.evidence import Situation
from torch_debugger.ranks.hangs.kernel_view import KernelView
from torch_debugger.ranks.hangs.pace import Limits, Pace
from torch_debugger.ranks.hangs.sightings import Sighting
from torch_debugger.ranks.hangs.vigil import Vigil
from torch_debugger.ranks.hangs.waits import DEBUGGER, Wait
from torch_debugger.records import HangOver, Place
from torch_debugger.records.hangs import COLLECTIVE, INPUT, LOCK, SLEEP


class MadeUpThread:
    """Waits in one call, or computes; both as long as the test wants."""

    def __init__(self) -> None:
        self.now_s = self.cpu_s = self.process_s = 0.0
        self.wakes = 0
        self.computes = self.others_compute = False
        self.line = 9
        self.kind, self.doing, self.state = LOCK, "lock.acquire", "S"
        self.fetch = (0, 0)

    def pass_time(self, seconds: float) -> None:
        self.now_s += seconds
        self.cpu_s += seconds * self.computes
        self.process_s += seconds * (self.computes or self.others_compute)

    def look(self) -> tuple[Sighting, Wait]:
        call = "running" if self.computes else "futex"
        view = KernelView(self.cpu_s, self.wakes, self.state, call, -1, "")
        path = ((1, self.line),)
        wait = Wait(self.kind, self.doing, Place("train.py", self.line), "lock.acquire()")
        return Sighting(self.now_s, path, view, path, self.process_s, False, self.fetch), wait


class MadeUpEvidence:
    def __init__(self, world: int = 1) -> None:
        self.ranks = world
        self.gathered: list[Situation] = []

    def world(self) -> int:
        return self.ranks

    def rank_and_step(self) -> tuple[int | None, int]:
        return None, 7

    def view_workers(self) -> tuple[float, dict[int, Any]]:
        return 0.0, {}

    def awaited_worker_computes(self, before: Any) -> bool:
        return False

    def gather(self, thread: Any, situation: Situation) -> Situation:
        self.gathered.append(situation)
        return situation


class Watched:
    """A vigil with a floor of 10 s and ticks of 1 s."""

    def __init__(self, world: int = 1, **limits: float) -> None:
        self.thread, self.evidence, self.told, self.signs = MadeUpThread(), MadeUpEvidence(world), [], [0]
        made_up: Any = (self.thread, Pace(Limits(**{"floor_s": 10.0, **limits})), lambda: tuple(self.signs))
        tell: Any = self.told.append
        evidence: Any = self.evidence
        self.vigil = Vigil(*made_up, evidence, tell, Asking(None))
        self.step()

    def step(self) -> None:
        self.signs[0] += 1
        self.wait(1)

    def wait(self, seconds: int) -> None:
        for _ in range(seconds):
            self.thread.pass_time(1.0)
            self.vigil.tick(1.0)

    @property
    def finals(self) -> list[Situation]:
        return [each for each in self.told if isinstance(each, Situation) and each.final]


def test_a_thread_that_waits_is_told_once_its_time_is_over() -> None:
    watched = Watched()
    watched.wait(12)
    assert watched.finals == []
    watched.wait(3)
    (told,) = watched.finals
    assert told.kind == LOCK and 10 <= told.still_s <= 12


def test_it_is_told_again_ever_more_rarely() -> None:
    watched = Watched()
    watched.wait(100)
    assert [round(told.still_s, -1) for told in watched.finals] == [10, 20, 40, 80]


def test_when_it_goes_on_that_is_told_too() -> None:
    watched = Watched()
    watched.wait(15)
    watched.step()
    over = watched.told[-1]
    assert isinstance(over, HangOver) and over.step == 7


def test_one_that_computes_is_left_alone() -> None:
    watched = Watched()
    watched.thread.computes = True
    watched.wait(500)
    assert watched.told == []


def test_one_that_goes_from_line_to_line_is_left_alone() -> None:
    watched = Watched()
    for line in range(100):
        watched.thread.line = line
        watched.wait(1)
    assert watched.told == []


def test_one_that_wakes_all_the_time_is_left_alone() -> None:
    """A download."""
    watched = Watched()
    for _ in range(100):
        watched.thread.wakes += 50
        watched.wait(1)
    assert watched.told == []


def test_one_for_whom_others_work_is_left_alone() -> None:
    watched = Watched()
    watched.thread.others_compute = True
    watched.wait(100)
    assert watched.told == []


def test_a_pause_is_left_alone() -> None:
    watched = Watched()
    watched.thread.kind = SLEEP
    watched.wait(1000)
    assert watched.told == []


def test_a_prompt_is_left_alone() -> None:
    watched = Watched(world=2)
    watched.thread.kind, watched.thread.doing = INPUT, DEBUGGER
    watched.wait(1000)
    assert watched.finals == []


def test_a_slow_disk_is_given_the_ceiling() -> None:
    watched = Watched(ceiling_s=60.0)
    watched.thread.state = "D"
    watched.wait(50)
    assert watched.told == []
    watched.wait(15)
    assert len(watched.finals) == 1


def test_a_sleeping_laptop_counts_for_a_few_ticks() -> None:
    """The thread itself did not run: hours pass between two ticks."""
    watched = Watched()
    watched.wait(4)
    watched.thread.pass_time(3600.0)
    watched.vigil.tick(3.0)  # what the loop hands on of it
    assert watched.told == []


def test_ranks_tell_before_one_is_sure() -> None:
    watched = Watched(world=2)
    watched.thread.kind = COLLECTIVE
    watched.wait(9)
    (early,) = watched.told
    assert not early.final and early.still_s < 8


def test_a_batch_without_end() -> None:
    watched = Watched()
    for _ in range(3):
        watched.step()
    watched.thread.computes, watched.thread.fetch = True, (1, 15)
    for line in range(15):
        watched.thread.line = line
        watched.wait(1)
    (told,) = watched.finals
    assert told.kind == "loop"


def test_batches_that_come_are_left_alone() -> None:
    watched = Watched()
    for _ in range(3):
        watched.step()
    watched.thread.computes = True
    for batch in range(100):
        watched.thread.fetch = (1, batch)
        watched.wait(1)
    assert watched.told == []


def test_one_that_was_stopped_while_it_stood_hung_to_its_end() -> None:
    watched = Watched()
    watched.wait(15)
    watched.vigil._thread.start()
    watched.vigil.stop()
    assert not isinstance(watched.told[-1], HangOver)


def test_what_went_on_at_the_last_moment_is_told() -> None:
    watched = Watched()
    watched.wait(15)
    watched.signs[0] += 1
    watched.vigil._thread.start()
    watched.vigil.stop()
    assert isinstance(watched.told[-1], HangOver)
