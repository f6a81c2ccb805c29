"""Where the model sees the class it chose.

Warm colours mark the places that raise the score of the class. They should lie on the shape; where they lie
on the ground, the model uses something else.
"""

from __future__ import annotations

from typing import Any

from torch_debugger import pictures


def make(cnn: Any, some: Any, names: Any) -> Any:
    return pictures.class_activation(cnn, some[2:6], "conv3", labels=names)
