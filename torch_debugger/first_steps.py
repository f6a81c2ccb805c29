"""What the program's own variables tell of a run: its hyperparameters and seeds, read once.

When the first step is over the program is set up: what it was told is in the variables of the frames that
led there. It costs that one step a fraction of a millisecond.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

from torch_debugger.anatomy.frames import frames, locals_of
from torch_debugger.anatomy.sources import is_user_file
from torch_debugger.probes.probe import Probe
from torch_debugger.records import HparamsFact, OptimizerFact, SeedFact
from torch_debugger.surroundings.hparams import find_hparams, optimizer_hparams
from torch_debugger.surroundings.seeds import find_seeds

_MOST_FRAMES = 20


class FirstStep(Probe):
    name = "hyperparameters"
    deep_only = True  # the first step is

    done = False

    def end_step(self) -> None:
        if self.done:
            return
        self.done = True
        step = self.watch.step
        found = find_hparams(_scopes(), step)
        for fact in (*found, *optimizer_hparams(self._optimizers(), step)):
            self.watch.emit(fact)
        self._tell_seeds(found, step)

    def _optimizers(self) -> list[OptimizerFact]:
        return [fact for fact in self.watch.sinks.standing if isinstance(fact, OptimizerFact)]

    def _tell_seeds(self, found: list[HparamsFact], step: int) -> None:
        seeds = find_seeds(torch.initial_seed(), found)
        if seeds:
            self.watch.emit(SeedFact(seeds, step))


def _scopes() -> list[dict[str, Any]]:
    """The variables of the user's frames, the innermost first, and of the main module."""
    own = [frame for frame in frames(2) if is_user_file(frame.f_code.co_filename)][:_MOST_FRAMES]
    scopes = [locals_of(frame) for frame in own if frame.f_code.co_name != "<module>"]
    modules = {id(frame.f_globals): frame.f_globals for frame in own if frame.f_code.co_name == "<module>"}
    main = sys.modules.get("__main__")
    modules |= {id(vars(main)): vars(main)} if main is not None else {}
    return [*scopes, *map(dict, modules.values())]
