"""A helper in a file of its own, as scripts have them."""

from __future__ import annotations

import torch

USE_CUDA = False


def moved(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.cuda() if USE_CUDA else tensor
