"""A picture with something to say: its remarks are sentences, and stand in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.figure import Figure

from torch_debugger.pictures.picture import Arrays, Picture


class RemarkedPicture(Picture):
    """`remarks` has what the picture says in words."""

    def __init__(self, title: str, arrays: Arrays, draw: Callable[[], Figure], remarks: Sequence[str]) -> None:
        super().__init__(title, arrays, draw)
        self.remarks = tuple(remarks)
