"""The steps of a windowed profile, as they are when nobody profiles them."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.step_split import StepSplit
from torch_debugger.records import Place, ProductTime, ProfileFact


def plain_s(fact: ProfileFact) -> float:
    """Of all profiled steps together. The host is slower while it is profiled, the device is not; and the
    host's clock says little about steps that it only puts into a queue."""
    each_s = fact.plain_s or fact.wall_s / max(1, fact.steps)
    return min(fact.wall_s, max(each_s * fact.steps, fact.device_busy_s))


def idle_s(fact: ProfileFact) -> float:
    """In which the device had nothing to do."""
    return max(0.0, plain_s(fact) - fact.device_busy_s)


def launching_s(fact: ProfileFact, split: StepSplit) -> float:
    """In which the device waited for nothing but the host's next kernel: not for data, a print or an
    evaluation, nor after the host had waited for the device."""
    elsewhere_s = split.share("data_wait", "logging", "evaluation") * plain_s(fact)
    return max(0.0, idle_s(fact) - elsewhere_s - sum(sync.lost_s for sync in fact.syncs))


def each(seconds: float, fact: ProfileFact) -> float:
    return seconds / max(1, fact.steps)


def device_s(products: Iterable[ProductTime]) -> float:
    return sum(product.device_s for product in products)


def dearest_line(products: Iterable[ProductTime]) -> Place:
    """The line of the forward whose products take longest, those of its backward with them."""
    times: dict[Place, float] = {}
    for product in products:
        times[product.place] = times.get(product.place, 0.0) + product.device_s
    return max(times, key=lambda place: times[place], default=Place())
