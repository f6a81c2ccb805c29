"""How a run went in one line, told without opening its log: from its result file and the names of its files."""

from __future__ import annotations

import math
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from torch_debugger.archive.folders import event_files
from torch_debugger.archive.judgements import read_plain_result

_MALFORMED = (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError)
_BEGAN = re.compile(r"tfevents\.(\d{9,11}(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class Outline:
    """None: not told. A run that is not over has no result, and tells nothing but when it began."""

    began: float | None = None  # seconds since the epoch
    outcome: str | None = None
    steps: int | None = None
    loss: float | None = None  # the last one
    verdict: str | None = None  # the name of the finding
    severity: str | None = None
    message: str | None = None


def read_outline(folder: str) -> Outline:
    plain = read_plain_result(folder)
    began = _began(folder)
    if plain is None:
        return Outline(began)
    try:
        return _outline(plain, began)
    except _MALFORMED:
        return Outline(began)


def _outline(plain: dict[str, Any], began: float | None) -> Outline:
    place = plain["verdict"]
    found = plain["findings"][place] if isinstance(place, int) else None
    return Outline(
        began=began,
        outcome=str(plain["outcome"]),
        steps=int(plain["steps"]),
        loss=_last_loss(plain),
        verdict=str(found["name"]) if found else None,
        severity=str(found["severity"]) if found else None,
        message=str(found["message"]) if found else None,
    )


def _last_loss(plain: dict[str, Any]) -> float | None:
    """NaN and the infinities stand in the file as words."""
    with suppress(*_MALFORMED):
        return float(plain["loss"]["last"]["value"])
    return None


def _began(folder: str) -> float | None:
    """The names of event files begin with their time."""
    times = [
        float(match[1]) for path in event_files(folder) if (match := _BEGAN.search(os.path.basename(path)))
    ]
    return min(filter(math.isfinite, times), default=None)
