"""Pictures, films, sounds and words."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from torch_debugger.errors import DebuggerError
from torch_debugger.records import PictureSummary, SoundSummary, TextSummary
from torch_debugger.summaries.figures import figure_pixels
from torch_debugger.summaries.files import Files
from torch_debugger.summaries.films import check_rate, film_frames
from torch_debugger.summaries.pictures import boxes_of, picture_pixels
from torch_debugger.summaries.sounds import sound_samples
from torch_debugger.summaries.sparing import sparing


class MediaWriter(Files):
    """What is written is encoded in the log's thread; only a copy of the pixels is made here."""

    @sparing
    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        pixels = picture_pixels(img_tensor, dataformats, self._remarks("add_image", tag))
        self._add(PictureSummary(*self._moment(global_step, walltime), str(tag), pixels))

    @sparing
    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """A grid of pictures; also of a list of pictures."""
        if isinstance(img_tensor, (list, tuple)) and len(dataformats) == 3:
            dataformats = f"N{dataformats}"
        pixels = picture_pixels(img_tensor, dataformats, self._remarks("add_images", tag))
        self._add(PictureSummary(*self._moment(global_step, walltime), str(tag), pixels))

    @sparing
    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: Any = None,
        **kwargs: Any,
    ) -> None:
        """tensorboardX has the format where torch has the scale."""
        if isinstance(rescale, str):
            rescale, dataformats = 1, rescale
        pixels = picture_pixels(img_tensor, dataformats, self._remarks("add_image_with_boxes", tag))
        boxes = boxes_of(box_tensor, labels)
        step, when = self._moment(global_step, walltime)
        self._add(PictureSummary(step, when, str(tag), pixels, rescale=float(rescale), boxes=boxes))

    @sparing
    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: Any = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """A matplotlib figure, or a list of figures of one size."""
        many = isinstance(figure, (list, tuple))
        pictures = [figure_pixels(one, close) for one in (figure if many else [figure])]
        if len({picture.shape for picture in pictures}) > 1:
            raise DebuggerError(f"expected figures of one size, got {[one.shape[:2] for one in pictures]}")
        pixels = picture_pixels(np.stack(pictures), "NHWC", self._remarks("add_figure", tag))
        self._add(PictureSummary(*self._moment(global_step, walltime), str(tag), pixels))

    @sparing
    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: Any = None,
        fps: float = 4,
        walltime: float | None = None,
        dataformats: str = "NTCHW",
    ) -> None:
        """Kept as a GIF, which needs no other library."""
        frames = film_frames(vid_tensor, dataformats, self._remarks("add_video", tag))
        step, when = self._moment(global_step, walltime)
        self._add(PictureSummary(step, when, str(tag), frames, frames_per_s=check_rate(fps), film=True))

    @sparing
    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        samples, clipped = sound_samples(snd_tensor)
        if clipped:
            loud = f"{clipped} of {samples.size} samples are not within -1 and 1"
            self._remarks("add_audio", tag)(f"{loud}: they are clipped, and silent where NaN.")
        self._add(SoundSummary(*self._moment(global_step, walltime), str(tag), samples, int(sample_rate)))

    @sparing
    def add_text(
        self, tag: str, text_string: Any, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Markdown; what is no string is written as its text."""
        self._add(TextSummary(*self._moment(global_step, walltime), str(tag), str(text_string)))

    def _remarks(self, call: str, tag: str) -> Callable[[str], None]:
        return partial(self.complaints.remark, f"{call}({tag!r})")
