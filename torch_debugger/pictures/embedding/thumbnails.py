"""Images of the batches as small pictures, kept beside their features."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from torch_debugger.pictures.attending.patches import image_among
from torch_debugger.pictures.runs_of_models import Inputs

_SIDE = 32  # pixels
_OUTLIERS = 0.5  # percent at either end that may be clipped


class Thumbnails:
    def __init__(self) -> None:
        self._small: list[torch.Tensor] = []
        self._complete = True

    def add(self, inputs: Inputs) -> None:
        image = image_among(inputs)
        if image is None or (self._small and image.shape[1] != self._small[0].shape[1]):
            self._complete = False
        elif self._complete:
            height, width = image.shape[2:]
            share = min(1.0, _SIDE / max(height, width))
            size = max(1, round(height * share)), max(1, round(width * share))
            self._small.append(functional.interpolate(image.detach().float().cpu(), size, mode="area"))

    def finished(self, count: int) -> NDArray[np.float32] | None:
        """[N, C, H, W] from 0 to 1, all on one scale; None where not every example is an image."""
        if not self._complete or len({each.shape[1:] for each in self._small}) != 1:
            return None
        images = torch.cat(self._small)[:count].numpy()
        low, high = np.nanpercentile(images, [_OUTLIERS, 100 - _OUTLIERS])
        unit: NDArray[np.float32] = np.clip((images - low) / max(high - low, 1e-12), 0, 1).astype(np.float32)
        return np.nan_to_num(unit)
