"""A few samples of a batch, as the model and the loss were given them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class BatchSample:
    """One tensor of a batch: its first samples, made small, with the numbers that tell how it was."""

    step: int
    role: str  # input | target
    root: str  # the model that was given it; for a target, the loss
    name: str  # of the parameter of forward(), or the loss function
    kind: str  # image | mask | series | tokens | vectors | values
    shape: tuple[int, ...]  # of the whole tensor
    dtype: str
    low: float  # of these samples, of what is finite in them
    high: float
    mean: float  # of the same, NaN included
    std: float
    not_finite: int  # among the numbers that are kept here
    kept: tuple[int, ...]  # the shape of what is kept, samples first; pictures and series: channels second
    data: str  # base64 of zlib: float32; of pictures uint8, 0 to 254 from low to high, 255 where not finite
    note: str = ""  # what was done to show it, beyond taking the first of everything
    padding: int | None = None  # the token that fills up rows, or the target that does not count
    without_text: ClassVar[bool] = True  # nothing in it can be a secret by its name or form

    @property
    def nbytes(self) -> int:
        return len(self.data)
