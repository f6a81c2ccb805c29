"""The most that could flow from each patch to the class token.

Read it like the rollout: attention is taken as the width of pipes, and the greatest flow through them is
computed. It is slower, and less blurred by many layers.
"""

from __future__ import annotations

from typing import Any

from torch_debugger import pictures


def make(vit: Any, some: Any) -> Any:
    return pictures.attention_flow(vit, some, sample=5)
