"""How much of each patch reaches the class token through all layers.

Warm patches reach the answer most. It shows where information can come from, not whether it speaks for the
class.
"""

from __future__ import annotations

from typing import Any

from torch_debugger import pictures


def make(vit: Any, some: Any) -> Any:
    return pictures.attention_rollout(vit, some, sample=5)
