"""The loss over a training, every point and a smoothed line.

Both lines should fall together; a gap that widens is overfitting. NaN and Inf would be marked where they
came.
"""

from __future__ import annotations

from typing import Any

from torch_debugger import pictures


def make(losses: Any) -> Any:
    return pictures.loss_curve(losses)
