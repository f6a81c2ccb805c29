"""Tensors that a model was given, as images that can be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from matplotlib import colormaps
from numpy.typing import NDArray
from torch.nn import functional

from torch_debugger.errors import UsageError
from torch_debugger.pictures.canvas import HEAT, to_unit

Numbers = Sequence[float] | torch.Tensor | NDArray[Any] | None


class ShownImages:
    """Images [N, C, H, W] of a model, each as [H, W, 3] in 0 to 1 when it is asked for.

    With their normalisation undone, or from their least to their greatest; other than three channels are
    averaged to grey.
    """

    def __init__(self, images: torch.Tensor, mean: Numbers = None, std: Numbers = None) -> None:
        self._images = images.detach().clone()
        self._as_given = mean is None and std is None
        self._mean, self._std = _per_channel(mean, 0.0, images), _per_channel(std, 1.0, images)

    def __getitem__(self, number: int) -> NDArray[np.float64]:
        image = self._images[number].to("cpu", torch.float64).numpy()
        values = to_unit(image) if self._as_given else np.clip(image * self._std + self._mean, 0, 1)
        values = np.nan_to_num(values)
        if len(values) != 3:
            values = values.mean(axis=0, keepdims=True).repeat(3, axis=0)
        return np.moveaxis(values, 0, 2)


def as_background(given: Any, count: int, size: tuple[int, int]) -> NDArray[np.float64]:
    """Images of the user's own to draw on, brought to the size of the model's input.

    [H, W, 3], [3, H, W] or a batch of either; bytes, or numbers from 0 to 1 (others from least to greatest).
    """
    values = np.asarray(given.detach().cpu() if isinstance(given, torch.Tensor) else given)
    values = (values / 255.0 if values.dtype == np.uint8 else values).astype(np.float64)
    values = values[None] if values.ndim == 3 else values
    if values.ndim == 4 and values.shape[3] not in (1, 3):
        values = np.moveaxis(values, 1, 3)
    if values.ndim != 4 or len(values) != count or values.shape[3] not in (1, 3):
        raise UsageError(
            f"expected background= as {count} images, [{count}, height, width, 3], but got"
            f" {list(np.shape(given))}."
        )
    values = values if values.min() >= 0 and values.max() <= 1 else to_unit(values)
    moved = torch.from_numpy(np.ascontiguousarray(np.moveaxis(values, 3, 1)))
    sized = (
        functional.interpolate(moved, size, mode="bilinear", antialias=True)
        if moved.shape[2:] != size
        else moved
    )
    return np.broadcast_to(np.moveaxis(sized.numpy(), 1, 3), (count, *size, 3))


def heat_over(image: NDArray[Any], heat: NDArray[Any]) -> NDArray[np.float64]:
    """The hotter, the more colour: where it is cold, the image is seen as it is.

    Under the heat it loses its own colour, which would mix with that of the heat to something else.
    """
    colour = colormaps[HEAT](0.25 + 0.75 * heat)[..., :3]
    warm = np.asarray(heat, dtype=np.float64)[..., None]
    ground = image * (1 - warm) + image.mean(axis=2, keepdims=True) * warm
    mixed: NDArray[np.float64] = ground * (1 - 0.7 * warm) + colour * 0.7 * warm
    return mixed


def _per_channel(values: Numbers, otherwise: float, images: torch.Tensor) -> NDArray[np.float64]:
    given = np.atleast_1d(np.asarray(otherwise if values is None else values, dtype=np.float64)).ravel()
    if len(given) not in (1, images.shape[1]):
        raise UsageError(
            f"mean= and std= have {len(given)} entries, but the images have {images.shape[1]} channels."
        )
    return given.reshape(-1, 1, 1)
