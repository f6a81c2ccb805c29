"""The filters of the first convolution.

Filters with three input channels are shown in their own colours. Smooth edges and colour contrasts are what
training makes; what still looks like static has learned little.
"""

from __future__ import annotations

from typing import Any

from torch_debugger import pictures


def make(cnn: Any) -> Any:
    return pictures.filters(cnn, "conv1")
