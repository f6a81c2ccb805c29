"""Which optimizers there are, and which parameters they hold.

Kept as they come and go: a script may have thousands (federated clients, a search over settings), and a step of
one must not cost by the number of the others.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Collection

from torch.optim import Optimizer

from torch_debugger.probes.held import Held


class KnownOptimizers:
    LIMIT = 64  # of more, those that stepped last are looked at

    def __init__(self) -> None:
        self.held: dict[int, Held] = {}
        self._recent: OrderedDict[int, Held] = OrderedDict()
        self._parameters: Counter[int] = Counter()  # id -> how many optimizers hold it
        self._names: set[str] = set()
        self._numbers: Counter[str] = Counter()  # the last that was put behind a name

    def parameter_ids(self) -> Collection[int]:
        """Of all optimizers; of those that stepped last, also what was added a moment ago."""
        for held, optimizer in self.live():
            if len(held.parameters) != sum(len(group["params"]) for group in optimizer.param_groups):
                self.holds(held, ids_of(optimizer))
        return self._parameters.keys()

    def of(self, optimizer: Optimizer) -> Held | None:
        known = self.held.get(id(optimizer))
        return known if known is not None and known.optimizer() is optimizer else None

    def add(self, optimizer: Optimizer, held: Held) -> None:
        key = id(optimizer)
        self.forget(key)
        self.held[key] = held
        self.has_stepped(key, held)
        self.holds(held, ids_of(optimizer))

    def forget(self, key: int) -> None:
        held = self.held.pop(key, None)
        self._recent.pop(key, None)
        if held is not None:
            self.holds(held, [])
            self._names.discard(held.name)

    def clear(self) -> None:
        for each in (self.held, self._recent, self._parameters, self._names):
            each.clear()

    def has_stepped(self, key: int, held: Held) -> None:
        self._recent[key] = held
        self._recent.move_to_end(key)
        if len(self._recent) > self.LIMIT:
            self._recent.popitem(last=False)

    def holds(self, held: Held, parameters: list[int]) -> None:
        before, held.parameters = held.parameters, parameters
        if before == parameters:
            return
        self._parameters.update(parameters)
        for key in before:
            self._parameters[key] -= 1
            if self._parameters[key] <= 0:
                del self._parameters[key]

    def live(self) -> list[tuple[Held, Optimizer]]:
        known = self.held if len(self.held) <= self.LIMIT else self._recent
        pairs = [(held, held.optimizer()) for held in tuple(known.values())]
        return [(held, optimizer) for held, optimizer in pairs if optimizer is not None]

    def free_name(self, name: str) -> str:
        candidate = name
        while candidate in self._names:
            self._numbers[name] += 1
            candidate = f"{name}_{self._numbers[name] + 1}"
        self._names.add(candidate)
        return candidate


def ids_of(optimizer: Optimizer) -> list[int]:
    return [id(p) for group in optimizer.param_groups for p in group["params"]]
