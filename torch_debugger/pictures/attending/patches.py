"""Tokens of an image: which of them are its patches, and what is said of each drawn over the image."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.pictures.canvas import HEAT, INK, image_axes, new_figure, to_unit
from torch_debugger.pictures.token_grids import PatchGrid, patch_grid


def image_among(inputs: Any) -> torch.Tensor | None:
    """[N, 1 or 3, H, W]"""
    inputs = dict(inputs) if hasattr(inputs, "keys") else inputs
    images = (each for each in tensors_in(inputs) if each.dim() == 4 and each.shape[1] in (1, 3))
    return next(images, None)


def patches_of(tokens: int, image: torch.Tensor | None) -> PatchGrid | None:
    return None if image is None else patch_grid(tokens, (image.shape[2], image.shape[3]))


def seen_patches(shares: NDArray[Any], patches: PatchGrid) -> NDArray[Any]:
    """[..., rows, columns] of [..., out, in]: what the class token sees; without one, all outputs together."""
    seen = shares[..., 0, :] if patches.extra else shares.mean(axis=-2)
    return seen[..., patches.extra :].reshape(*seen.shape[:-1], patches.rows, patches.columns)


def overlay(title: str, image: torch.Tensor, grid: NDArray[Any], measure: str) -> Figure:
    """The image [C, H, W], and beside it the same under the grid's colours."""
    pixels = np.moveaxis(to_unit(image.detach().float().cpu().numpy()), 0, -1)
    pixels = pixels.repeat(3, axis=2) if pixels.shape[2] == 1 else pixels
    height, width = pixels.shape[:2]
    figure = new_figure(7.4, max(2.4, 3.2 * height / width) + 0.5, title)
    left, right = figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2)
    image_axes(left, "input").imshow(pixels)
    image_axes(right, f"over {grid.shape[0]} x {grid.shape[1]} patches").imshow(_grey(pixels))
    smooth = Image.fromarray(grid.astype(np.float32)).resize((width, height), Image.Resampling.BICUBIC)
    shown = right.imshow(np.asarray(smooth), cmap=HEAT, alpha=0.6, vmin=grid.min(), vmax=grid.max())
    bar = figure.colorbar(shown, ax=right, fraction=0.05, pad=0.02)
    bar.set_label(measure, fontsize=8, color=INK)
    bar.ax.tick_params(labelsize=8, colors=INK, length=2)
    return figure


def _grey(pixels: NDArray[Any]) -> NDArray[Any]:
    """So that all colour is the map's."""
    grey: NDArray[Any] = pixels.mean(axis=2, keepdims=True)
    return grey.repeat(3, axis=2)
