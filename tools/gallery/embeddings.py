"""The features of a layer as points, one for each image.

Points of one colour should lie together and apart from the others. The numbers below say how many dimensions
are really used: few of them are a sign of collapse.
"""

from __future__ import annotations

from typing import Any

from torch_debugger import pictures


def make(cnn: Any, loader: Any, data: Any, names: Any) -> Any:
    return pictures.embeddings(cnn, loader, "bn3", labels=[names[kind] for _, kind in data])
