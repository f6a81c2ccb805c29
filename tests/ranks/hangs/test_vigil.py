"""The watchdog's thread, tick by tick, over a training that is made up."""

from __future__ import annotations

from typing import Any

from torch_debugger.ranks.hang_detection import Asking
from torch_debugger.ranks.hang_detection import HangDetector as Vigil
from torch_debugger.ranks.hang_evidence import Sighting, Situation
from torch_debugger.ranks.hang_waits import DEBUGGER, Wait
from torch_debugger.ranks.process_activity import KernelView, Limits, Pace
from torch_debugger.records import HangFact, HangOver, Place
from torch_debugger.records.ranks import COLLECTIVE, INPUT, LOCK, SLEEP


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

    def frame(self) -> None:
        return None

    def look(self) -> tuple[Sighting, Wait]:
        call = "running" if self.computes else "futex"
        view = KernelView(self.cpu_s, self.wakes, self.state, call, -1, "")
        path = ((1, self.line),)
        wait = Wait(self.kind, self.doing, Place("train.py", self.line), "lock.acquire()")
        return Sighting(self.now_s, path, view, path, self.process_s, False, self.fetch), wait


class MadeUpLoop:
    def __init__(self) -> None:
        self.is_around = False

    def holds(self, frame: None) -> bool:
        return self.is_around


class MadeUpEvidence:
    def __init__(self, world: int = 1) -> None:
        self.ranks = world
        self.tells_facts = False
        self.loop = MadeUpLoop()
        self.gathered: list[Situation] = []

    def world(self) -> int:
        return self.ranks

    def rank_and_step(self) -> tuple[int | None, int]:
        return None, 7

    def view_workers(self) -> tuple[float, dict[int, Any]]:
        return 0.0, {}

    def awaited_worker_computes(self, before: Any) -> bool:
        return False

    def gather(self, thread: Any, situation: Situation) -> Any:
        self.gathered.append(situation)
        if self.tells_facts:
            nowhere, line = Place(), thread.look()[1].place
            return HangFact(
                None, 1, 7, situation.final, situation.still_s, situation.allowed_s, situation.slowest_s,
                situation.kind, "", line, "", nowhere, (), (), -1, -1, False, -1, (), "abort",
            )  # fmt: skip
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


AT_THE_WAIT = {("train.py", 9), ("main.py", 3)}


def standing(seconds: int) -> Watched:
    """In a wait that would be told after 80 s, 10 s of them are a person's patience, but at most 5."""
    watched = Watched(floor_s=80.0)
    watched.evidence.tells_facts = True
    watched.wait(seconds)
    return watched


def test_an_interrupt_after_a_while_of_standing_still_is_that_of_a_hang() -> None:
    assert standing(6).vigil.interrupted(AT_THE_WAIT) is None
    fact = standing(20).vigil.interrupted(AT_THE_WAIT)
    assert fact is not None and fact.final and 15 < fact.still_s < 20
    assert fact.policy == "dump"  # it ends by the interrupt
    assert fact.expected_s <= fact.still_s


def test_a_pause_in_the_training_that_is_interrupted_was_too_long() -> None:
    for is_around in (True, False):
        watched = Watched(floor_s=80.0)
        watched.evidence.tells_facts, watched.evidence.loop.is_around = True, is_around
        watched.thread.kind = SLEEP
        watched.wait(200)
        assert watched.told == []
        assert (watched.vigil.interrupted(AT_THE_WAIT) is not None) == is_around


def test_an_interrupt_elsewhere_is_not() -> None:
    assert standing(20).vigil.interrupted({("train.py", 10)}) is None


def test_what_stood_is_known_while_the_interrupt_is_on_its_way() -> None:
    """The loader ends its workers, say, before the script ends."""
    watched = standing(20)
    watched.thread.line = 50
    watched.wait(3)
    fact = watched.vigil.interrupted(AT_THE_WAIT)
    assert fact is not None and 15 < fact.still_s < 20


def test_what_has_gone_on_since_was_no_hang() -> None:
    watched = standing(20)
    watched.step()
    watched.wait(3)
    assert watched.vigil.interrupted(AT_THE_WAIT) is None


def test_a_hang_that_was_told_stays_one_when_it_is_interrupted() -> None:
    """The thread that unwinds is seen to move, and is said to go on."""
    watched = standing(100)
    watched.thread.line = 50
    watched.wait(3)
    assert isinstance(watched.told[-1], HangOver)
    fact = watched.vigil.interrupted(AT_THE_WAIT)
    assert fact is not None and fact.still_s > 80


def test_a_slow_training_is_given_three_times_what_it_took() -> None:
    watched = Watched(floor_s=80.0)
    watched.evidence.tells_facts = True
    watched.thread.computes = True
    for _ in range(3):
        watched.wait(10)
        watched.step()
    watched.thread.computes = False
    watched.wait(25)
    assert watched.vigil.interrupted(AT_THE_WAIT) is None
    watched.wait(15)
    assert watched.vigil.interrupted(AT_THE_WAIT) is not None
