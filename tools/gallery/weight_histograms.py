"""How the weights of each layer are spread.

A narrow bell around zero is usual. A spike at zero is a layer that died or was pruned, and long tails are
weights that grew without bound.
"""

from __future__ import annotations

from typing import Any

from torch_debugger import pictures


def make(cnn: Any) -> Any:
    return pictures.weight_histograms(cnn)
