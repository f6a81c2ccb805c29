"""The pictures of an embedding's points, all in one."""

from __future__ import annotations

from torch_debugger.viewer.asked import Asked, File
from torch_debugger.viewer.projector.showing import sprite_file


def answer(asked: Asked) -> File:
    tag, step = asked.text("tag"), asked.whole("step", 0)
    return File(*asked.of_run(lambda run: sprite_file(run, tag, step)))
