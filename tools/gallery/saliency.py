"""How much the score changes with each pixel.

Bright pixels are those that a small change of would move the score most. It is noisy by nature: `smoothgrad`
shows the same with less of it.
"""

from __future__ import annotations

from typing import Any

from torch_debugger import pictures


def make(cnn: Any, some: Any, names: Any) -> Any:
    return pictures.saliency(cnn, some[2:6], labels=names)
