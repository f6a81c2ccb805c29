"""The governor: looks within the budget, closely at the start, and when asked."""

from __future__ import annotations

import pytest

from torch_debugger.probes.schedule import DEEP, LIGHT, NONE, Governor

STEPS = 10_000


class Run:
    """A training whose steps and looks cost what the test says; time is a number."""

    def __init__(
        self, budget: float = 0.02, *, always_deep: bool = False, first_deep: int = 3, **costs_s: float
    ) -> None:
        self.now = 100.0
        self.governor = Governor(budget, always_deep=always_deep, first_deep=first_deep, clock=lambda: self.now)
        self.step_s = costs_s.get("step", 0.01)
        self.costs_s = {
            NONE: costs_s.get("base", 0.0),
            LIGHT: costs_s.get("base", 0.0) + costs_s.get("light", 0.0001),
            DEEP: costs_s.get("base", 0.0) + costs_s.get("deep", 0.002),
        }
        self.depths: list[int] = []
        self.cut: list[int] = []  # steps
        self.governor.begin()

    def go(self, steps: int) -> Run:
        for _ in range(steps):
            depth = self.governor.choose(len(self.depths) + 1)
            self.depths.append(depth)
            spent_s = self.costs_s[depth]
            if depth == DEEP and spent_s > self.governor.limit_s:
                spent_s = self.governor.limit_s
                self.governor.cut_short()
                self.cut.append(len(self.depths))
            self.now += self.step_s + spent_s
            self.governor.charge(depth, spent_s)
        return self

    @property
    def overhead(self) -> float:
        """What looking has cost beyond the start and the allowance, as a share of the run."""
        governor = self.governor
        looked_s = governor.spent_s - governor.start_s - governor.ALLOWANCE_S
        return looked_s / governor.elapsed_s


COSTS = [
    {"step": 0.001, "light": 0.00005, "deep": 0.001},
    {"step": 0.001, "light": 0.0005, "deep": 0.01},
    {"step": 0.01, "light": 0.0001, "deep": 0.005},
    {"step": 0.1, "light": 0.001, "deep": 0.1},
    {"step": 1.0, "light": 0.002, "deep": 2.0},
    {"step": 0.0005, "base": 0.000005, "light": 0.0002, "deep": 0.003},
    {"step": 0.01, "base": 0.0001, "light": 0.01, "deep": 0.05},
]


@pytest.mark.parametrize("budget", [0.005, 0.02, 0.2])
@pytest.mark.parametrize("costs", COSTS, ids=lambda costs: f"{costs['step']}s-{costs['deep']}s")
def test_the_budget_holds(costs: dict[str, float], budget: float) -> None:
    run = Run(budget, **costs).go(STEPS)
    assert run.overhead <= budget + 1e-9 or run.governor.base_s > budget * run.governor.elapsed_s
    # It is used where there is something to use it for: no governor passes by never looking.
    if 0.4 * budget * run.governor.elapsed_s > 10 * costs["deep"]:
        assert run.depths[100:].count(DEEP) >= 3


@pytest.mark.parametrize("costs", COSTS, ids=lambda costs: f"{costs['step']}s-{costs['deep']}s")
def test_the_budget_holds_at_every_moment(costs: dict[str, float]) -> None:
    run = Run(0.02, **costs)
    for _ in range(300):
        run.go(10)
        free_s = 0.02 * run.governor.elapsed_s + run.governor.ALLOWANCE_S + run.governor.start_s
        if run.governor.base_s < 0.02 * run.governor.elapsed_s:
            assert run.governor.spent_s <= free_s + 1e-9


def test_the_first_steps_are_deep_whatever_the_budget() -> None:
    run = Run(1e-6, deep=0.9).go(50)
    assert run.depths[:3] == [DEEP, DEEP, DEEP]
    assert DEEP not in run.depths[3:]


def test_first_steps_that_take_long_are_fewer() -> None:
    run = Run(1e-6, deep=2.9).go(50)
    assert run.depths[:3] == [DEEP, DEEP, LIGHT]
    assert run.cut == []


def test_a_look_at_a_huge_model_is_cut_short_until_the_run_is_long_enough() -> None:
    run = Run(0.02, step=1.0, deep=20.0).go(50)
    assert run.cut == [1, 2]
    assert run.governor.spent_s < 2 * Governor.LOOK_S + 0.1
    assert run.governor.deep_steps == 0
    run.go(20_000)
    assert run.cut[2:] == sorted(run.cut[2:])
    assert len(run.cut) == 4  # after 6 and 12 s, 24 are enough
    assert run.depths[-10_000:].count(DEEP) >= 3
    assert run.overhead <= 0.02


def test_a_number_of_deep_steps_that_was_asked_for_is_not_cut() -> None:
    assert Run(0.02, first_deep=5, deep=30.0).go(10).depths[:5] == [DEEP] * 5
    assert Run(0.02, always_deep=True, deep=30.0).go(10).depths == [DEEP] * 10


def test_a_dear_start_does_not_starve_later_looks() -> None:
    run = Run(0.02, step=0.01, deep=5.0).go(1)  # sources are read, kernels loaded
    run.costs_s[DEEP] = 0.001
    run.go(3000)
    assert run.depths[100:].count(DEEP) > 3


def test_an_allowance_for_short_runs() -> None:
    """Ten steps of a millisecond buy nothing; they are looked at all the same."""
    run = Run(0.02, step=0.001, light=0.0002, deep=0.002).go(20)
    assert run.depths.count(NONE) == 0
    assert run.depths.count(DEEP) > 3
    assert Governor.ALLOWANCE_S <= 0.2


def test_cheap_looks_are_taken_at_every_step() -> None:
    run = Run(0.02, step=0.1, light=0.0001, deep=0.001).go(2000)
    assert run.depths.count(NONE) == 0


def test_deep_steps_thin_out() -> None:
    depths = Run(0.02, step=0.1, deep=0.001).go(STEPS).depths
    first, last = depths[:1000].count(DEEP), depths[-1000:].count(DEEP)
    assert first > 3 * last
    assert last >= 5


def test_a_request_is_served_at_once() -> None:
    run = Run(0.02, step=0.1, deep=0.001).go(1000)
    run.governor.request(4)
    run.go(8)
    assert run.depths[-8:-4] == 4 * [DEEP]
    assert DEEP not in run.depths[-4:]


def test_a_request_waits_until_it_can_be_paid() -> None:
    run = Run(0.02, step=0.001, light=0.0, deep=0.1).go(100)
    run.governor.request(2)
    run.go(3)
    assert DEEP not in run.depths[-3:]
    run.go(STEPS)
    assert run.depths[103:].count(DEEP) >= 2
    assert run.overhead <= 0.02 * (0.6 + 0.4 * Governor.REQUEST_OVERDRAFT)


def test_requests_without_end_stay_within_twice_the_account() -> None:
    run = Run(0.02, step=0.01, deep=0.01)
    for _ in range(STEPS // 10):
        run.governor.request(5)
        run.go(10)
    assert run.overhead <= 0.02 * (0.6 + 0.4 * Governor.REQUEST_OVERDRAFT)


def test_two_requests_are_not_added_up() -> None:
    run = Run(0.02, step=0.1, deep=0.0001).go(1000)
    run.governor.request(2)
    run.governor.request(3)
    run.go(6)
    assert run.depths[-6:].count(DEEP) == 3


def test_always_deep() -> None:
    assert set(Run(1e-9, always_deep=True, deep=1.0).go(50).depths) == {DEEP}


def test_what_every_step_costs_is_paid_first() -> None:
    """With a base that uses up the budget hardly anything is left for looks beyond the allowance."""
    run = Run(0.02, step=0.001, base=0.00003, light=0.0005, deep=0.01).go(STEPS)
    assert run.depths[-1000:].count(NONE) > 990


def test_where_watching_alone_uses_up_the_budget_looks_do_not_end() -> None:
    run = Run(0.02, step=0.01, base=0.0003).go(20_000)
    assert run.depths[10_000:].count(LIGHT) > 100
    assert run.overhead <= 0.03 + 0.1 * 0.02  # what every step costs, and a tenth of the budget


def test_the_logs_thread_is_paid_too() -> None:
    plain, charged = Run(0.02, step=0.01), Run(0.02, step=0.01)
    plain.go(2000)
    for _ in range(200):
        charged.governor.charge_base(0.001)
        charged.go(10)
    assert charged.governor.spent_s - charged.governor.base_s < plain.governor.spent_s
    assert charged.overhead <= 0.02


def test_time_before_the_training_buys_nothing() -> None:
    now = [0.0]
    governor = Governor(0.02, clock=lambda: now[0])
    now[0] = 3600.0  # loading data for an hour
    assert governor.elapsed_s == 0.0
    governor.begin()
    now[0] += 1.0
    governor.begin()
    assert governor.elapsed_s == 1.0


def test_all_that_was_spent_is_told() -> None:
    run = Run(0.02, step=0.01, base=0.00001, light=0.0002, deep=0.003).go(5000)
    spent_s = sum(run.costs_s[depth] for depth in run.depths)
    assert run.governor.spent_s == pytest.approx(spent_s)
    assert run.governor.deep_steps == run.depths.count(DEEP)
    assert run.governor.light_steps == run.depths.count(LIGHT)


def test_as_many_first_steps_are_deep_as_were_asked_for() -> None:
    """Whatever they cost, and without taking from the looks that follow."""
    run = Run(first_deep=50, deep=1.0).go(51)
    assert run.depths[:50] == [DEEP] * 50
    assert run.depths[50] != DEEP
    assert (run.governor.start_s, run.governor.deep_s) == (50.0, 0.0)


def test_fewer_than_three_are_not_to_be_had() -> None:
    assert Run(first_deep=1, deep=1.0).go(4).depths[:3] == [DEEP] * 3
