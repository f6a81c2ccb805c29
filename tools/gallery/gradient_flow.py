"""How large the gradients of each layer are.

Bars of about one height mean that all layers learn; a fall of many decades towards the input is a vanishing
gradient. Layers without a gradient are named below.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from torch_debugger import pictures


def make(cnn: Any, some: Any) -> Any:
    targets = torch.arange(len(some))
    return pictures.gradient_flow(cnn, some, loss=functional.cross_entropy, targets=targets)
