"""Which modules a script has moved, and by which line."""

from __future__ import annotations

import gc
from typing import Any

from torch import nn

from torch_debugger.probes.model.module_state import ModuleMoves
from torch_debugger.probes.probe import Patches


class At:
    """A watch that lets every probe look at once."""

    def probe(self, name: str, look: Any, *arguments: Any) -> None:
        look(*arguments)


def test_modules_that_live_are_told_with_their_lines_and_none_is_kept_alive() -> None:
    watch: Any = At()
    moves, patches = ModuleMoves(watch), Patches()
    moves.install(patches)
    try:
        kept = nn.Linear(2, 2).to("cpu")
        nn.Linear(2, 2).to("cpu")
        for _ in range(2 * moves.KEPT):
            kept.to("cpu")
    finally:
        patches.restore()
    gc.collect()
    assert {id(module) for module, _ in moves.alive()} == {id(kept)}
    assert len(moves.alive()) == moves.KEPT - 1
    assert nn.Linear(2, 2).to("cpu") is not None
    assert len(moves.alive()) == moves.KEPT - 1
