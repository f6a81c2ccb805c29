"""Images as sums of waves: what is climbed are the waves' strengths, so that all scales grow alike.

Pixels climbed one by one give static. Here a wave of frequency f weighs 1/f, as in photographs, and three
colours are mixed from brightness and two opponents, which in photographs are independent and ever weaker
(Ruderman, Cronin and Chiao 1998). A sigmoid keeps every value inside the range that the model knows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

# rows red, green, blue; columns brightness, blue against yellow, red against green
_OPPONENTS = torch.tensor([[0.577, 0.408, 0.707], [0.577, 0.408, -0.707], [0.577, -0.816, 0.0]])
_STRENGTHS = torch.tensor([1.0, 0.45, 0.3])


@dataclass(frozen=True)
class FourierImages:
    """Parameters [N, C, frequencies ..., 2] to images [N, C, size ...]; a vector [F] has no waves."""

    size: tuple[int, ...]  # of one image: C, then its lengths
    low: torch.Tensor  # [C, 1 ...], as the others
    high: torch.Tensor
    middle: torch.Tensor  # what a flat image has

    @property
    def lengths(self) -> tuple[int, ...]:
        return self.size[1:]

    def parameters(self, count: int, contrast: float, generator: torch.Generator) -> torch.Tensor:
        """Noise as photographs have it; drawn on the CPU, so that every device begins with the same."""
        waves = (*self._frequencies().shape, 2) if self.lengths else ()
        shape = (count, self.size[0], *waves)
        return contrast * torch.randn(shape, generator=generator).to(self.low.device)

    def waves(self, parameters: torch.Tensor) -> torch.Tensor:
        """Before the range: about as spread as the parameters are, with mean 0."""
        if not self.lengths:
            return parameters
        weights = 1 / self._frequencies().clamp(min=1 / max(self.lengths))
        weights = weights / weights.square().mean().sqrt() * math.sqrt(0.5)  # real and imaginary part
        spectrum = torch.view_as_complex(parameters) * weights
        axes = tuple(range(-len(self.lengths), 0))
        summed = torch.fft.irfftn(spectrum, s=self.lengths, dim=axes, norm="ortho")
        return self._coloured(summed)

    def in_range(self, waves: torch.Tensor) -> torch.Tensor:
        return self.low + (self.high - self.low) * torch.sigmoid(waves + self._offset())

    def _offset(self) -> torch.Tensor:
        share = (self.middle - self.low) / (self.high - self.low)
        return torch.logit(share.clamp(0.05, 0.95))

    def _frequencies(self) -> torch.Tensor:
        """In cycles per pixel, of the half spectrum of real images."""
        device = self.low.device
        sides = [torch.fft.fftfreq(length, device=device) for length in self.lengths[:-1]]
        sides.append(torch.fft.rfftfreq(self.lengths[-1], device=device))
        return torch.stack(torch.meshgrid(*sides, indexing="ij")).square().sum(0).sqrt()

    def _coloured(self, waves: torch.Tensor) -> torch.Tensor:
        if len(self.size) != 3 or self.size[0] != 3:
            return waves
        mixed = _OPPONENTS * _STRENGTHS / _STRENGTHS.square().mean().sqrt()
        return torch.einsum("rc,nchw->nrhw", mixed.to(waves.device), waves)
