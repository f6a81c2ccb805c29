"""The step under way where nobody else counts: one more than the busiest optimizer has taken."""

from __future__ import annotations

from collections import Counter
from typing import Any

from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook
from torch.utils.hooks import RemovableHandle


class Steps:
    """Counted from when the first breakpoint was set. A GAN's two optimizers count iterations this way."""

    def __init__(self) -> None:
        self._taken: Counter[int] = Counter()
        self._handle: RemovableHandle | None = register_optimizer_step_post_hook(self._stepped)

    @property
    def step(self) -> int:
        return max(self._taken.values(), default=0) + 1

    def _stepped(self, optimizer: Optimizer, arguments: Any, keywords: Any) -> None:
        self._taken[id(optimizer)] += 1

    def close(self) -> None:
        if self._handle is not None:
            self._handle.remove()
            self._handle = None
