"""What flows where in a model, with the shape of every tensor.

Boxes are modules and operations, from the input at the top down; a line that passes a box by is a residual or
a skip, here the one of the U-Net. On a page (`.save("model.html")`) modules open and close.
"""

from __future__ import annotations

from typing import Any

import torch_debugger


def make(unet: Any, some: Any) -> Any:
    return torch_debugger.model_graph(unet, some)
