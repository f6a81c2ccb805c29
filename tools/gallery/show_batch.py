"""What the model is given: the first thing to look at.

Check that each label fits its image, that colours are in order and that the range is the one you meant. What
looks odd about a batch is said below it.
"""

from __future__ import annotations

from typing import Any

from torch_debugger import pictures


def make(loader: Any, names: Any) -> Any:
    return pictures.show_batch(loader, labels=names, most=8)
