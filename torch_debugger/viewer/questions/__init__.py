"""What the page asks, one file a question: `/ask/NAME` is answered by `answer` in NAME.py.

Found by the files that are here. An answer is JSON values; NaN and the infinities are words (`grids.as_json`).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from torch_debugger.viewer.asked import Asked

Answer = Callable[[Asked], Any]


@lru_cache(maxsize=1)
def question_names() -> frozenset[str]:
    return frozenset(each.name for each in pkgutil.iter_modules(__path__))


def find_answer(name: str) -> Answer | None:
    """None for what is no question. The name is looked up among ours before anything is imported."""
    if name not in question_names():
        return None
    answer: Answer = importlib.import_module(f"{__name__}.{name}").answer
    return answer
