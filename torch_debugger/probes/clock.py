"""When a step ends: learned from the order in which the script's optimizers step.

A step closes when the optimizer that ends the repeating cycle has stepped; the next forward
belongs to the next step. GAN scripts with two optimizers, or five critic steps for one
generator step, therefore count iterations, not optimizer calls.
"""

from __future__ import annotations

from collections.abc import Hashable


class StepClock:
    PATIENCE = 16  # optimizer steps to wait for an optimizer that was made but has not stepped
    BACKWARDS = 64  # backward passes without any optimizer step before those are counted instead

    def __init__(self) -> None:
        self.step = 0  # the step under way
        self.counted = "optimizer steps"
        self.optimizers_exist = False  # made before the watch; they may step yet
        self.optimizer_steps = 0  # of all optimizers
        self.skipped = 0  # of those, left out by a GradScaler
        self._waiting: set[Hashable] = set()
        self._seen: set[Hashable] = set()
        self._closer: Hashable | None = None
        self._since_close = 0
        self._longest_gap = 0
        self._backwards = 0
        self.backwards = 0  # backward passes seen

    def made(self, optimizer: Hashable) -> None:
        self._waiting.add(optimizer)

    def gone(self, optimizer: Hashable) -> None:
        self._waiting.discard(optimizer)
        self._seen.discard(optimizer)
        if self._closer == optimizer:
            self._closer = None

    def stepped(self, optimizer: Hashable) -> bool:
        """An optimizer has stepped; True when that ends the step."""
        self.optimizer_steps += 1
        self._backwards = -1
        self.counted = "optimizer steps"
        before = self._closer
        closes = self._closes(optimizer)
        if closes:
            if before == optimizer:  # else it was the wait for another that has just been given up
                self._longest_gap = max(self._longest_gap, self._since_close)
            self._since_close = 0
        else:
            self._since_close += 1
        return closes

    def _closes(self, optimizer: Hashable) -> bool:
        first_time = optimizer not in self._seen
        self._seen.add(optimizer)
        self._waiting.discard(optimizer)
        if first_time or (self._closer is None and not self._waiting):
            self._closer = None if self._waiting else optimizer
        elif self._closer != optimizer and self._since_close >= max(self.PATIENCE, 4 * self._longest_gap):
            # The optimizers waited for do not step: a later stage of the script, or never.
            self._waiting.clear()
            self._closer = optimizer
        return self._closer == optimizer

    def backward_done(self) -> bool:
        """A backward pass has ended; True when backward passes are what is counted."""
        self.backwards += 1
        if self._backwards < 0:
            return False
        self._backwards += 1
        if (self._waiting or self._seen or self.optimizers_exist) and self._backwards < self.BACKWARDS:
            return False
        self.counted = "backward passes"
        return True

    def skipped_step(self, optimizer: Hashable) -> bool:
        """A GradScaler did not let the optimizer step: for counting it did."""
        self.skipped += 1
        return self.stepped(optimizer)
