"""How the memory of a loader's workers has grown since each of them began."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from torch_debugger.records import WorkerLook
from torch_debugger.records.workers import GrownContainer


@dataclass
class Growth:
    """The looks at one process."""

    looks: list[WorkerLook] = field(default_factory=list)

    @property
    def own_bytes(self) -> int:
        return self.looks[-1].own_bytes - self.looks[0].own_bytes

    @property
    def resident_bytes(self) -> int:
        return self.looks[-1].resident_bytes - self.looks[0].resident_bytes

    @property
    def batches(self) -> int:
        return self.looks[-1].batches - self.looks[0].batches

    def goes_on(self, share: float) -> bool:
        """Whether the second half of the looks has this share of the growth."""
        middle = self.looks[len(self.looks) // 2]
        return self.looks[-1].own_bytes - middle.own_bytes >= share * self.own_bytes

    def container(self, share: float) -> GrownContainer | None:
        """The one whose new entries are that share of what was added; a cache's entries cannot be weighed."""
        now = self.looks[-1].grown
        explains = [each for each in now if added_bytes(each) >= share * self.own_bytes]
        caches = [each for each in now if each.kind == "cache"]
        return max(explains, key=added_bytes, default=caches[0] if caches else None)


def added_bytes(container: GrownContainer) -> int:
    return (container.length - container.length_before) * container.entry_bytes


def total(growths: Sequence[Growth]) -> int:
    return sum(max(0, growth.own_bytes) for growth in growths)


def megabytes(count: float) -> str:
    return f"{count / 1e9:.3g} GB" if count >= 1e9 else f"{count / 1e6:.3g} MB"


def kilobytes(count: float) -> str:
    return f"{count / 1e3:.3g} kB" if count < 1e6 else megabytes(count)
