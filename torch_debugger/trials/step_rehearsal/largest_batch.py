"""The largest batch that fits: guessed from a straight line, then tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

_MOST_TRIES = 10
_STRAIGHT_TRIES = 3  # by a line through two tries; after that by halves
_FURTHER = 8  # times the batch, where two tries took the same memory
_SURELY = 10_000  # times the batch would show in the memory
_CLOSE = 100  # the answer may be that part of itself too small


class NoLimitError(Exception):
    """However large the batch was, it fitted; the text says so."""


@dataclass
class BatchSearch:
    """Each try is a rehearsal of its own: `need(batch)` says how many bytes it takes."""

    need: Callable[[int], int]
    limit: int
    known: dict[int, int] = field(default_factory=dict)
    _straight: int = 0

    def largest(self, begin: int) -> int:
        """0 where not even one sample fits."""
        self._try(begin)
        for _ in range(_MOST_TRIES):
            low, high = self._bracket()
            if high is not None and high - low <= max(1, low // _CLOSE):
                return low
            self._try(self._guess(low, high))
            self._check_that_it_matters(begin)
        low, high = self._bracket()
        if high is None:
            raise NoLimitError(f"A batch of {low:,} still fits, and larger ones were not tried.")
        return low

    def _check_that_it_matters(self, begin: int) -> None:
        if max(self.known) >= _SURELY * begin and len(set(self.known.values())) == 1:
            raise NoLimitError(
                "The memory is the same whatever the batch: its size may be written into the step's lines."
            )

    def _try(self, batch: int) -> None:
        if batch not in self.known:
            self.known[batch] = self.need(batch)

    def _bracket(self) -> tuple[int, int | None]:
        """The largest that is known to fit, and the smallest that is known not to."""
        high = min((batch for batch, size in self.known.items() if size > self.limit), default=None)
        return max((batch for batch in self.known if high is None or batch < high), default=0), high

    def _guess(self, low: int, high: int | None) -> int:
        least = low + max(1, low // _CLOSE)
        if high is None:
            return max(self._on_line(sorted(self.known)[-2:]) or _FURTHER * low, least)
        ends = [low, high] if low else sorted(self.known)[:2]
        self._straight += 1
        guess = self._on_line(ends) if self._straight <= _STRAIGHT_TRIES else None
        return min(max(guess or (low + high) // 2, least), max(high - 1, 1))

    def _on_line(self, tries: list[int]) -> int | None:
        """Where the line through two tries meets the limit; None where there is none."""
        if len(tries) < 2:
            return 2 * tries[0] if self.known[tries[0]] <= self.limit else None
        one, two = tries
        slope = (self.known[two] - self.known[one]) / (two - one)
        return int(one + (self.limit - self.known[one]) / slope) if slope > 0 else None
