"""Calls of modules in the order of time, whoever has seen them: hooks, or a trace."""

from __future__ import annotations

from bisect import bisect_right


class ModuleCalls:
    def __init__(self) -> None:
        self.times_ns: list[int] = []
        self._stacks: list[tuple[str, ...]] = []  # the modules whose forward runs from then on
        self.stack: tuple[str, ...] = ()
        self.calls: list[tuple[str, str, int, int]] = []  # path, kind, when it began and ended

    def at(self, moment_ns: int) -> tuple[str, ...]:
        """The modules whose forward ran at this time, the outermost first."""
        place = bisect_right(self.times_ns, moment_ns) - 1
        return self._stacks[place] if place >= 0 else ()

    def between(self, began_ns: int, ended_ns: int) -> dict[str, tuple[str, int, float]]:
        """By path: the kind, the calls in that time and their seconds, with everything in them."""
        found: dict[str, tuple[str, int, float]] = {}
        reached: dict[str, int] = {}
        for path, kind, began, ended in self.calls:
            if began_ns <= began and ended <= ended_ns:
                _, calls, seconds = found.get(path, (kind, 0, 0.0))
                own_ns = 0 if began < reached.get(path, 0) else ended - began  # inside of itself: counted once
                found[path] = kind, calls + 1, seconds + own_ns / 1e9
                reached[path] = max(reached.get(path, 0), ended)
        return found

    def note(self, now: int, stack: tuple[str, ...]) -> None:
        self.stack = stack
        self.times_ns.append(now)
        self._stacks.append(stack)
