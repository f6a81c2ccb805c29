"""What each pixel contributes to the score, as far as it is linear.

Red speaks for the class and blue against it. Pixels that are zero contribute nothing, whatever their
gradient.
"""

from __future__ import annotations

from typing import Any

from torch_debugger import pictures


def make(cnn: Any, some: Any, names: Any) -> Any:
    return pictures.input_x_gradient(cnn, some[2:6], labels=names)
