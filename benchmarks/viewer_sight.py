"""What can be seen, and since when: the frames that Chromium has drawn, each with its time.

A curve is drawn in a box of the page when at least three quarters of the box's columns hold a pixel with
colour: frames, axes, grids, letters and grounds are grey on both pages that are compared.
"""

from __future__ import annotations

import base64
import io
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Error

WIDTH, HEIGHT = 1400, 900
_COLOURED = 24  # between the strongest and the weakest of red, green and blue: TensorBoard draws a greyish blue
_COLUMNS = 0.75
_CHANGED = 24  # of 255: less is the noise of the pictures' compression

Box = tuple[int, int, int, int]


@dataclass
class Sight:
    """The frames of one page, oldest first."""

    page: Any
    frames: list[tuple[float, bytes]] = field(default_factory=list)

    def wait_for_curve(self, selector: str, limit_s: float = 120.0) -> tuple[float, Box]:
        """When the curve in the first such box was first seen (seconds since the epoch), and where it is."""
        ends = time.monotonic() + limit_s
        while time.monotonic() < ends:
            self.page.wait_for_timeout(100)
            box = box_of(self.page, selector)
            if box is not None and self.frames and shows_curve(self.frames[-1][1], box):
                return next(when for when, frame in self.frames if shows_curve(frame, box)), box
        raise TimeoutError(f"No curve was seen in {selector} within {limit_s:.0f} s.")

    def first_change(self, box: Box, since: float, limit_s: float = 30.0) -> float:
        """When what is in the box first looked otherwise than at `since`."""
        ends = time.monotonic() + limit_s
        while time.monotonic() < ends:
            changed = self._changes(box, since)
            if changed:
                return changed[0]
            self.page.wait_for_timeout(50)
        raise TimeoutError(f"Nothing changed in {box} within {limit_s:.0f} s.")

    def _changes(self, box: Box, since: float) -> list[float]:
        before = [frame for when, frame in self.frames if when <= since][-1:]
        later = [(when, frame) for when, frame in self.frames if when > since]
        looks = [_pixels(frame, box) for frame in [*before, *(frame for _, frame in later)]]
        return [when for (when, _), old, new in zip(later, looks, looks[1:], strict=False) if _differ(old, new)]


@contextmanager
def seen(page: Any) -> Iterator[Sight]:
    sight = Sight(page)
    session = page.context.new_cdp_session(page)

    def keep(frame: dict[str, Any]) -> None:
        sight.frames.append((float(frame["metadata"]["timestamp"]), base64.b64decode(frame["data"])))
        with suppress(Error):  # the page may be closed by now
            session.send("Page.screencastFrameAck", {"sessionId": frame["sessionId"]})

    session.on("Page.screencastFrame", keep)
    half = {"maxWidth": WIDTH // 2, "maxHeight": HEIGHT // 2}  # whole frames took longer to pack than to draw
    session.send("Page.startScreencast", {"format": "jpeg", "quality": 80, "everyNthFrame": 1, **half})
    yield sight
    session.send("Page.stopScreencast")


def box_of(page: Any, selector: str) -> Box | None:
    """Of the first such element that is in sight and has an extent."""
    places: list[list[float]] = page.evaluate(_PLACES, selector)
    for left, top, width, height in places:
        if width > 50 and height > 50 and top >= 0 and top + height <= HEIGHT:
            return round(left), round(top), round(left + width), round(top + height)
    return None


_PLACES = """selector => [...document.querySelectorAll(selector)].map(element => {
  const { left, top, width, height } = element.getBoundingClientRect();
  return [left, top, width, height];
})"""


def shows_curve(frame: bytes, box: Box) -> bool:
    pixels = _pixels(frame, box)
    coloured = (pixels.max(axis=2) - pixels.min(axis=2)) > _COLOURED
    return bool(coloured.any(axis=0).mean() >= _COLUMNS)


def _pixels(frame: bytes, box: Box) -> NDArray[np.int16]:
    picture = Image.open(io.BytesIO(frame)).convert("RGB")
    scale = picture.width / WIDTH
    left, top, right, bottom = (round(edge * scale) for edge in box)
    return np.asarray(picture.crop((left, top, right, bottom)), np.int16)


def _differ(one: NDArray[np.int16], other: NDArray[np.int16]) -> bool:
    return one.shape != other.shape or bool((np.abs(one - other) > _CHANGED).any())
