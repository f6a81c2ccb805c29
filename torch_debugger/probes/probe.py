"""What every probe is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_debugger.probes.patches import Patches
from torch_debugger.probes.sampling import NONE

if TYPE_CHECKING:
    from torch_debugger.probes.watch import Watch


class Probe:
    """A pair of ears on one part of the training. Subclasses override what they need."""

    name = "probe"
    deep_only = False  # its end_step has news after a deep step only

    def __init__(self, watch: Watch) -> None:
        self.watch = watch

    def install(self, patches: Patches) -> None:
        """Put hooks on; every replaced attribute goes through `patches`."""

    def begin_step(self, depth: int) -> None:
        """A step begins."""

    def end_step(self) -> None:
        """A step ends; its numbers are due."""

    def give_up(self) -> None:
        """A fault of this probe's: it is asked nothing any more; what still costs comes off."""

    def cut_short(self) -> None:
        """This step's look has taken too long: what it has seen is dropped, and it looks at nothing more."""
        self.begin_step(NONE)

    def step_aside(self) -> None:
        """Nothing more will be heard: what would take silence for an answer stops. Said by another thread."""

    def remove(self) -> None:
        """Take off what `patches` does not."""
