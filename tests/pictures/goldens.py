"""Pictures compared by pixels with those that were looked at. WRITE_GOLDEN=1 writes them anew; then look."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from PIL import Image

from torch_debugger.pictures import Picture

FOLDER = Path(__file__).parent / "golden"
_DPI = 60  # small files; what matters is still seen
_MEAN, _FAR, _FAR_SHARE = 2.0, 40, 0.01  # of 255; letters of another font differ at their edges


def assert_as_looked_at(picture: Picture, name: str) -> None:
    path = FOLDER / f"{name}.png"
    found = picture.pixels(dpi=_DPI)
    if os.environ.get("WRITE_GOLDEN"):
        FOLDER.mkdir(exist_ok=True)
        Image.fromarray(found).save(path, optimize=True)
    with Image.open(path) as image:
        expected = np.asarray(image.convert("RGB"))
    assert found.shape == expected.shape, f"{name}: {found.shape} instead of {expected.shape}"
    apart = np.abs(found.astype(int) - expected)
    assert apart.mean() <= _MEAN, f"{name}: {apart.mean():.1f} apart on average"
    assert (apart.max(axis=2) > _FAR).mean() <= _FAR_SHARE, f"{name}: some parts look different"
