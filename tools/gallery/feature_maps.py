"""What the channels of a layer give for one image.

Each map has its own range, which stands above it, and the strongest come first. A map that is zero everywhere
is called dead: look at several images before believing it.
"""

from __future__ import annotations

from typing import Any

from torch_debugger import pictures


def make(cnn: Any, some: Any) -> Any:
    return pictures.feature_maps(cnn, some, ["bn1", "conv2"], sample=3, most=8)
