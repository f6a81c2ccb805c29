"""What a model is made of, layer by layer.

Every row shows what no other row shows, so each column sums up to its total below. Look for the layer that
holds most parameters, and for a shape that is not what you thought.
"""

from __future__ import annotations

from typing import Any

import torch_debugger


def make(cnn: Any, some: Any) -> Any:
    return torch_debugger.summary(cnn, input_data=some, verbose=0)
