"""A small number that stands for a sample: the same sample always has the same one."""

from __future__ import annotations

import zlib

import torch

SAMPLES = 32  # of one batch
ELEMENTS = 256  # of one sample, evenly spread


def sampled_rows(tensor: torch.Tensor) -> torch.Tensor:
    """The first samples, one a row, with at most ELEMENTS of each: [samples, elements], contiguous."""
    first = tensor.detach()[:SAMPLES]
    rows = first.reshape(first.shape[0], -1)
    stride = max(1, -(-rows.shape[1] // ELEMENTS))
    # An even stride would see the same column of every line of an image.
    stride += stride > 1 and stride % 2 == 0
    return rows[:, ::stride].contiguous()


def digest_rows(rows: torch.Tensor) -> tuple[int, ...]:
    """Of every row its checksum. Only for a contiguous tensor on the CPU."""
    width = rows.shape[1] * rows.element_size()
    data = rows.view(torch.uint8).numpy().data.cast("B")
    return tuple(zlib.crc32(data[start : start + width]) for start in range(0, width * len(rows), width))
