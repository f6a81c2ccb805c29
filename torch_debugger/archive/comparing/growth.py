"""How large a difference may be that only rounding has made, by what it was before."""

from __future__ import annotations

from torch_debugger.archive.comparing.sights import Sight

_JUMP = 10.0  # from one look to the next; rounding grows by less
_GIVEN = frozenset({"batch", "rate"})  # not computed by the model, so rounding does not grow in them
_COUNTED = 0.02  # of a metric that counts (accuracy): one sample that turns over is no parting


class Growth:
    def __init__(self, floor: float, initial_floor: float) -> None:
        self._floor = floor
        self._initial_floor = initial_floor  # of the weights before anything was computed with them
        self._largest = 0.0  # of everything so far
        self._by_source: dict[str, tuple[float, float]] = {}  # its own largest, and that of everything then

    def tolerance(self, sight: Sight) -> float:
        if sight.phase in _GIVEN:
            return self._floor
        if sight.phase == "weights" and not self._by_source:
            return self._initial_floor
        own, then = self._by_source.get(sight.source, (0.0, 0.0))
        since = max(1.0, self._largest / then) if then > 0 else 1.0
        grown = _JUMP * max(own * since, self._largest)
        if sight.phase == "evaluation" and self._largest > 0:
            grown = max(grown, _COUNTED)
        return max(self._floor, grown)

    def saw(self, sight: Sight, largest: float) -> None:
        if sight.phase in _GIVEN or (sight.phase == "weights" and not self._by_source and not largest):
            return
        own, _ = self._by_source.get(sight.source, (0.0, 0.0))
        self._largest = max(self._largest, largest)
        self._by_source[sight.source] = max(own, largest), self._largest
