"""What every function of this room returns: something that shows itself, is saved, and goes to a log."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from torch_debugger.records import PictureSummary
from torch_debugger.records.sinks import watched_run
from torch_debugger.system.errors import UsageError

Arrays = Mapping[str, NDArray[Any]]
_DPI = 110
_NOWHERE = (
    "there is no log to put this picture in: pass a SummaryWriter, as in picture.log(writer, tag, step), or "
    "run the script with `torch-debugger run`."
)
_NOT_KEPT = (
    "the Debugger that watches keeps no log: give it one with Debugger(log_dir=...), or pass a SummaryWriter, "
    "as in picture.log(writer, tag, step)."
)
_KINDS = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp")


class TakesImages(Protocol):
    """A SummaryWriter: ours, torch's or tensorboardX's."""

    def add_image(self, tag: str, img_tensor: Any, global_step: int | None = ..., *, dataformats: str) -> Any: ...


class Picture:
    """A drawing and the numbers it was made from.

    picture                    # in a notebook: shown
    picture.save("cam.png")    # or .svg, .pdf, .jpg
    picture.arrays["maps"]     # the numbers
    picture.log(writer, "cam", step)
    """

    def __init__(self, title: str, arrays: Arrays, draw: Callable[[], Figure], remarks: Sequence[str] = ()) -> None:
        self.title = title
        self.arrays = dict(arrays)
        self.remarks = tuple(remarks)  # what it says in words: sentences, that stand in it
        self._draw = draw

    def __repr__(self) -> str:
        arrays = ", ".join(f"{name} {list(array.shape)}" for name, array in self.arrays.items())
        return f"<Picture: {self.title}; {arrays}>"

    def figure(self) -> Figure:
        """A new matplotlib figure, known to no pyplot: nothing has to be closed."""
        return self._draw()

    def png(self, dpi: int = _DPI) -> bytes:
        buffer = io.BytesIO()
        self._draw().savefig(buffer, format="png", dpi=dpi)
        return buffer.getvalue()

    def pixels(self, dpi: int = _DPI) -> NDArray[np.uint8]:
        """[height, width, 3]"""
        with Image.open(io.BytesIO(self.png(dpi))) as image:
            return np.asarray(image.convert("RGB"))

    def save(self, path: str | Path, dpi: int = _DPI) -> Path:
        path = Path(path)
        if path.suffix.lower() not in _KINDS:
            kinds = ", ".join(_KINDS)
            raise UsageError(f"a picture is saved as {kinds}, but {path.name!r} ends otherwise.")
        if not path.parent.is_dir():
            raise UsageError(f"no folder {str(path.parent)!r} to save {path.name!r} in: make it first.")
        self._draw().savefig(path, dpi=dpi)
        return path

    def show(self) -> None:
        """Below the cell of a notebook; elsewhere with the machine's own viewer of images."""
        ipython = sys.modules.get("IPython")  # never imported for it
        shell = ipython.get_ipython() if ipython is not None else None
        if ipython is not None and getattr(shell, "kernel", None) is not None:
            ipython.display.display(self)
        elif sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
            Image.fromarray(self.pixels()).show(title=self.title)
        else:
            raise UsageError('there is no screen here to show a picture on: picture.save("picture.png").')

    def log(self, writer: TakesImages | None = None, tag: str | None = None, step: int | None = None) -> None:
        """To a SummaryWriter: ours, torch's or tensorboardX's. Without one, to the log of the run that is
        watched (`torch-debugger run`, or a Debugger with a log_dir), at the step under way."""
        if writer is not None:
            writer.add_image(tag or self.title, self.pixels(), step, dataformats="HWC")
            return
        run = watched_run()
        if run is None or not run.sinks.keeps:
            raise UsageError(_NOWHERE if run is None else _NOT_KEPT)
        now = run.step if step is None else step
        run.emit(PictureSummary(now, time.time(), tag or self.title, self.pixels()[None]))

    def _repr_png_(self) -> bytes:
        return self.png()
