"""Which of a run's tags is the loss."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Best first. A part of a name counts as a whole word: train_loss, Loss/train, training/loss_epoch.
_PATTERNS = [
    r"loss",
    r"(train|training)[/_.-]loss",
    r"loss[/_.-](train|training|total)",
    r"(.*[/_.-])?(train|training)[/_.-].*loss.*",
    r"(.*[/_.-])?(total[/_.-])?loss([/_.-].*)?",
    r".*loss.*",
]


def find_loss_tag(tags: Sequence[str]) -> str | None:
    for pattern in _PATTERNS:
        for tag in tags:
            if re.fullmatch(pattern, tag[:1000], re.IGNORECASE | re.DOTALL):
                return tag
    return None
