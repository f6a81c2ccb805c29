"""Which lines belong to the loops that make the steps."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from torch_debugger.ranks.thread_stacks import TrainingLoop

SCRIPT = """
def step():
    note(frame())
def main():
    look("before")
    for epoch in range(2):
        for batch in range(3):
            step()
            look("batch")
        look("epoch")
    look("after")
    while True:
        look("another loop")
        break
main()
"""


def test_what_is_in_a_loop_that_makes_steps_and_what_is_not(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    loop, held = TrainingLoop(), {}

    def look(where: str) -> None:
        held[where] = loop.holds(sys._getframe(1))

    frame: Callable[[], FrameType] = lambda: sys._getframe(1)  # noqa: E731
    names: dict[str, Any] = {"note": loop.note, "frame": frame, "look": look}
    for _ in range(1):  # a loop of whoever runs it
        exec(compile(SCRIPT, str(path), "exec"), names)
    assert held == {"before": False, "batch": True, "epoch": True, "after": False, "another loop": False}
