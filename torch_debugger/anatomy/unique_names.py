"""Names of nodes in a graph: each once, without characters that mean something to TensorBoard."""

from __future__ import annotations

import re
from collections.abc import Iterable


class UniqueNames:
    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._counts = dict.fromkeys(taken, 1)

    def unique(self, name: str) -> str:
        """conv2d, conv2d_2, conv2d_3"""
        count = self._counts.get(name, 0) + 1
        self._counts[name] = count
        return name if count == 1 else self.unique(f"{name}_{count}")


def legal_name(part: str) -> str:
    """Of one part: a slash would begin another scope, a colon the number of an output."""
    return re.sub(r"[^\w.\-]", "_", part)
