"""How much of the score is lost where a window covers the image.

Red places are those that the model cannot do without. It needs no gradients, so it works where they mislead.
"""

from __future__ import annotations

from typing import Any

from torch_debugger import pictures


def make(cnn: Any, some: Any, names: Any) -> Any:
    return pictures.occlusion(cnn, some[4:], window=6, stride=3, baseline=0.45, labels=names)
