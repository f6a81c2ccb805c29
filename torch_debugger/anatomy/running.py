"""What torch is doing at this moment: whether it is inside a backward pass, or inside a transform."""

from __future__ import annotations

import torch


def in_backward() -> bool:
    """Also where a checkpointed block runs its forward once more."""
    return torch._C._current_graph_task_id() != -1


def in_transform() -> bool:
    """Inside vmap and the like a tensor has no numbers yet."""
    return torch._C._functorch.peek_interpreter_stack() is not None
