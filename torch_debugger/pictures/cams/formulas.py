"""How activations and their gradients become one map for each example: the family of Grad-CAM.

Both are [maps, channels, height, width] in float32. The formulas are those of the papers, with the small
constants of the `grad-cam` package, so that the numbers agree.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

Formula = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]  # -> [maps, height, width]
_PLACES = (2, 3)


def weighted(activations: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """weights [maps, channels]"""
    return torch.einsum("mc,mchw->mhw", weights, activations)


def gradcam(activations: torch.Tensor, gradients: torch.Tensor) -> torch.Tensor:
    """Channels weighted by their mean gradient (arXiv:1610.02391)."""
    return weighted(activations, gradients.mean(_PLACES))


def gradcam_plus_plus(activations: torch.Tensor, gradients: torch.Tensor) -> torch.Tensor:
    """Equation 19 of arXiv:1710.11063."""
    squared = gradients**2
    total = activations.sum(_PLACES, keepdim=True)
    shares = squared / (2 * squared + total * squared * gradients + 1e-6)
    shares = torch.where(gradients != 0, shares, 0)
    return weighted(activations, (gradients.relu() * shares).sum(_PLACES))


def xgradcam(activations: torch.Tensor, gradients: torch.Tensor) -> torch.Tensor:
    """Gradients weighted by the share of the activation in its channel (arXiv:2008.02312)."""
    total = activations.sum(_PLACES, keepdim=True)
    return weighted(activations, (gradients * activations / (total + 1e-7)).sum(_PLACES))


def layercam(activations: torch.Tensor, gradients: torch.Tensor) -> torch.Tensor:
    """Every place weighted by its own positive gradient."""
    return (gradients.relu() * activations).sum(1)


def hirescam(activations: torch.Tensor, gradients: torch.Tensor) -> torch.Tensor:
    """Gradient times activation, place by place (arXiv:2011.08891)."""
    return (gradients * activations).sum(1)


def gradcam_elementwise(activations: torch.Tensor, gradients: torch.Tensor) -> torch.Tensor:
    """What is positive of gradient times activation."""
    return (gradients * activations).relu().sum(1)


def eigencam(activations: torch.Tensor, gradients: torch.Tensor) -> torch.Tensor:
    """The first principal component of the activations (arXiv:2008.00299): no class is asked for."""
    return _first_component(activations)


def eigengradcam(activations: torch.Tensor, gradients: torch.Tensor) -> torch.Tensor:
    """The same of gradient times activation."""
    return _first_component(gradients * activations)


def _first_component(values: torch.Tensor) -> torch.Tensor:
    """Its sign is arbitrary: numpy's is taken, as others do, so that maps can be compared."""
    maps = []
    for each in values.flatten(2).transpose(1, 2).cpu().numpy():  # [places, channels]
        centred = each - each.mean(axis=0)
        maps.append(centred @ np.linalg.svd(centred, full_matrices=False)[2][0])
    return torch.from_numpy(np.stack(maps)).to(values.device).reshape(-1, *values.shape[2:])


FORMULAS: dict[str, Formula] = {
    "gradcam": gradcam,
    "gradcam++": gradcam_plus_plus,
    "xgradcam": xgradcam,
    "layercam": layercam,
    "hirescam": hirescam,
    "gradcam_elementwise": gradcam_elementwise,
    "eigencam": eigencam,
    "eigengradcam": eigengradcam,
}
