"""How the outputs of each layer are spread.

Above each stands its deviation and its share of zeros: a ReLU that is zero nearly everywhere has stopped
learning. Deviations that grow or shrink from layer to layer point at the initialisation.
"""

from __future__ import annotations

from typing import Any

from torch_debugger import pictures


def make(cnn: Any, some: Any) -> Any:
    return pictures.activation_histograms(cnn, some)
