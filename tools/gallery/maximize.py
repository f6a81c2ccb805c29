"""What a class looks like to the model: images climbed from noise.

Each image is what raises one score as far as it goes, with the class still ahead of all others. Bars of the
right direction and the right colours say that the model learned the forms and not the ground.
"""

from __future__ import annotations

from typing import Any

from torch_debugger import pictures


def make(cnn: Any, some: Any) -> Any:
    return pictures.maximize(cnn, logit=range(8), like=some)
