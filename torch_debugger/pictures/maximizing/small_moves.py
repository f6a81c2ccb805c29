"""Small random shifts, turns and zooms: what is to stay strong under them must be a form, not static."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch.nn import functional


@dataclass(frozen=True)
class SmallMoves:
    """`shift` and `zoom` are shares of the size, `turn` is in degrees; each is the most there is."""

    shift: float
    turn: float
    zoom: float
    generator: torch.Generator

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        """All images are moved alike; what comes in at the border is mirrored."""
        if images.dim() == 4:
            return self._sampled(images, turn=self.turn)
        if images.dim() == 3:  # a signal is an image one pixel high
            return self._sampled(images.unsqueeze(2), turn=0.0, height=1).squeeze(2)
        return images if images.dim() < 3 else self._rolled(images)

    def _sampled(self, images: torch.Tensor, turn: float, height: int | None = None) -> torch.Tensor:
        shift_y, shift_x, turned, zoomed = self._draws(4)
        angle, zoom = math.radians(turn * turned), 1 + self.zoom * zoomed
        wide = images.shape[-1] / images.shape[-2] if height is None else 1.0  # turns keep right angles
        cosine, sine = math.cos(angle) * zoom, math.sin(angle) * zoom
        moved_y = 2 * self.shift * shift_y if height is None else 0.0
        rows = [[cosine, -sine / wide, 2 * self.shift * shift_x], [sine * wide, cosine, moved_y]]
        theta = torch.tensor(rows, device=images.device, dtype=images.dtype).expand(len(images), 2, 3)
        grid = functional.affine_grid(theta, list(images.shape), align_corners=False)
        return functional.grid_sample(images, grid, padding_mode="reflection", align_corners=False)

    def _rolled(self, images: torch.Tensor) -> torch.Tensor:
        axes = range(2, images.dim())
        steps = [round(self.shift * images.shape[axis] * self._draws(1)[0]) for axis in axes]
        return torch.roll(images, steps, tuple(axes))

    def _draws(self, count: int) -> list[float]:
        """Between -1 and 1."""
        drawn: list[float] = (2 * torch.rand(count, generator=self.generator) - 1).tolist()
        return drawn
