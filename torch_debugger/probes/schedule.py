"""When to look, and how closely: the governor that keeps the cost inside the budget.

Three accounts. `base` is what watching costs on every step and cannot be saved. Light looks
(norms of gradients and weights) may use 60 % of what the budget leaves, deep steps (module
hooks on) 40 %. Both start with a small allowance, so that the first steps, where most faults
show, are seen closely even in a short run.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from torch_debugger.probes.sinks import Sinks
from torch_debugger.records import CostFact
from torch_debugger.settings import DEEP_STEPS
from torch_debugger.system.clocks import time

NONE, LIGHT, DEEP = 0, 1, 2


class Governor:
    ALLOWANCE_S = 0.1  # looks in the first seconds, whatever the budget; one of a small net is 1 to 3 ms
    FIRST_DEEP = DEEP_STEPS  # steps that are always deep; what they cost is told, but buys no later look less
    LIGHT_SHARE = 0.6
    LEAST_SHARE = 0.1  # of the budget that is left for looks whatever else costs
    REQUEST_OVERDRAFT = 2.0  # a request may use up to this many times the deep account
    LOOK_S = 3.0  # what a deep step may take; one that takes longer is cut short
    CHANCES = 2  # the first step also reads sources and loads kernels; one cut short twice is of a huge model
    INSISTED = 8  # deep steps of one run that may be had whatever they cost

    def __init__(
        self,
        budget: float,
        *,
        always_deep: bool = False,
        first_deep: int = FIRST_DEEP,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.budget = budget
        self.always_deep = always_deep
        self.rests = False  # no looks: something else measures these steps
        self._first_deep = max(first_deep, self.FIRST_DEEP)
        self.start_s = self.base_s = self.light_s = self.deep_s = 0.0
        self.light_steps = self.deep_steps = 0
        self.limit_s = math.inf if always_deep or first_deep > self.FIRST_DEEP else self.LOOK_S
        self.is_hopeless = False  # the step under way: its look will not fit into `limit_s`
        self._foreseen_s = 0.0
        self._is_cut = False  # the step under way
        self.cuts = 0
        self._clock = clock
        self._started: float | None = None
        self._base_cost_s = self._light_cost_s = self._deep_cost_s = 0.0  # of one step, moving averages
        self._last_light = self._last_deep = 0
        self._requested = self._insisted = 0
        self._insisted_left = self.INSISTED

    def begin(self) -> None:
        """The training itself begins; what came before buys no looks."""
        if self._started is None:
            self._started = self._clock()

    @property
    def elapsed_s(self) -> float:
        return 0.0 if self._started is None else self._clock() - self._started

    @property
    def spent_s(self) -> float:
        return self.start_s + self.base_s + self.light_s + self.deep_s

    def account(self, step: int, tracing_s: float) -> CostFact:
        """What watching has cost so far, up to this step; `tracing_s` went into steps that were run again."""
        return CostFact(
            step=step,
            spent_s=self.spent_s,
            elapsed_s=self.elapsed_s,
            budget=self.budget,
            light_steps=self.light_steps,
            deep_steps=self.deep_steps,
            tracing_s=tracing_s,
        )

    def request(self, steps: int) -> None:
        """Some finding, or a loss spike, wants closer looks."""
        self._requested = max(self._requested, steps)

    def insist(self, steps: int) -> None:
        """Something changed that is seen now or never: another stage, gradients that no longer come."""
        self._insisted = min(max(self._insisted, steps), self._insisted_left)

    def foresee(self, look_s: float) -> None:
        """The look under way would take so long: what cannot be finished is not gone on with."""
        if look_s > self.limit_s:
            self.is_hopeless, self._foreseen_s = True, look_s

    def cut_short(self) -> bool:
        """The step under way takes longer than `limit_s`. In the end the next try may take twice as long, or
        twice what was foreseen, and waits until that is affordable. Was this the last of its chances?"""
        before = self.cuts
        self._is_cut, self.is_hopeless = True, False
        self.cuts = max(before + 1, self.CHANCES if self._foreseen_s else 0)
        if self.cuts >= self.CHANCES:
            self.limit_s = self._deep_cost_s = 2.0 * max(self.limit_s, self._foreseen_s)
        return before < self.CHANCES <= self.cuts

    def charge(self, depth: int, spent_s: float) -> None:
        """A step of this depth is over and watching it has cost this much."""
        if self._is_cut:
            self._is_cut = False
            if self.cuts <= self.CHANCES:
                self.start_s += spent_s
            else:
                self.deep_s += spent_s
            return
        if depth == DEEP and self.deep_steps < self._first_deep:
            # The first steps also read sources and load kernels: no measure for later ones.
            self.deep_steps += 1
            self.start_s += spent_s
            self._deep_cost_s = spent_s
            return
        if depth == NONE:
            self._base_cost_s = _average(self._base_cost_s, spent_s)
        base_s = min(spent_s, self._base_cost_s)
        self.base_s += base_s
        look_s = spent_s - base_s
        if depth == DEEP:
            self.deep_s += look_s
            self.deep_steps += 1
            self._deep_cost_s = _average(self._deep_cost_s, look_s)
        elif depth == LIGHT:
            self.light_s += look_s
            self.light_steps += 1
            self._light_cost_s = _average(self._light_cost_s, look_s)

    def charge_base(self, seconds: float) -> None:
        """Cost that belongs to no step: the log's writer thread."""
        self.base_s += seconds

    def choose(self, step: int) -> int:
        """The depth of the step that begins."""
        if self.rests:
            return NONE
        is_huge = self.cuts >= self.CHANCES
        if self._insisted and not is_huge:
            self._insisted, self._insisted_left = self._insisted - 1, self._insisted_left - 1
            self._last_deep = step
            return DEEP
        is_first = step <= self._first_deep and self.start_s <= self.limit_s * (1 + self.cuts) and not is_huge
        if self.always_deep or is_first or self._deep_now(step):
            self._last_deep = step
            self._requested = max(0, self._requested - 1)
            return DEEP
        if self._affords(self.light_s + self._light_cost_s, self.LIGHT_SHARE, step - self._last_light, step // 16):
            self._last_light = step
            return LIGHT
        return NONE

    def _deep_now(self, step: int) -> bool:
        # Often at the start, then about twenty times per doubling of the run's length.
        since = step - self._last_deep
        if not self._requested and since < min(200, max(5, step // 20)):
            return False
        needed_s = self.deep_s + self._deep_cost_s
        if self._requested:
            return needed_s <= self._free_s() * (1.0 - self.LIGHT_SHARE) * self.REQUEST_OVERDRAFT
        return self._affords(needed_s, 1.0 - self.LIGHT_SHARE, since, max(5, step // 6))

    def _affords(self, needed_s: float, share: float, since: int, spacing: int) -> bool:
        """Within the budget at any time; on the allowance ever more rarely, so that it lasts."""
        free_s = self._free_s()
        if needed_s <= (free_s - self.ALLOWANCE_S) * share:
            return True
        return since >= spacing and needed_s <= free_s * share

    def _free_s(self) -> float:
        """Also where watching alone uses up the budget there are looks, now and then: curves must not end."""
        bought_s = self.budget * self.elapsed_s
        return max(self.LEAST_SHARE * bought_s, self.ALLOWANCE_S + bought_s - self.base_s)


def _average(before: float, now: float) -> float:
    return now if before == 0.0 else 0.8 * before + 0.2 * now


# What watching costs, counted about once a second, and told ever more rarely.
class Costs:
    EVERY_S, TIMES = 1.0, 1000

    def __init__(self, governor: Governor, sinks: Sinks) -> None:
        self.tracing_s = 0.0  # spent on steps that were run again
        self._governor = governor
        self._sinks = sinks
        self._charged_at = 0.0
        self._charged_s = 0.0  # of what the sinks have used
        self._spacing = Spacing(self.EVERY_S, self.TIMES)

    def charge(self, step: int) -> None:
        """What the sinks' threads have used meanwhile."""
        now = time.monotonic()
        if now - self._charged_at > self.EVERY_S:
            before_s, self._charged_s = self._charged_s, self._sinks.cpu_s
            self._governor.charge_base(self._charged_s - before_s)
            self._charged_at = now
            if self._spacing.is_time(now):
                self.tell(step)

    def tell(self, step: int) -> None:
        self._spacing.done(time.monotonic())
        self._sinks.emit(self._governor.account(step, self.tracing_s))


# What is told ever more rarely as a run goes on: of a week there are a few thousand records, not a million.
class Spacing:
    """At first every `every_s`, then `times` times while the run grows by its own length."""

    def __init__(self, every_s: float, times: int) -> None:
        self._every_s, self._times = every_s, times
        self._began = time.monotonic()
        self._last = -float("inf")

    def is_time(self, now: float) -> bool:
        return now - self._last >= max(self._every_s, (now - self._began) / self._times)

    def done(self, now: float) -> None:
        self._last = now
