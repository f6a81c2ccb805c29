"""A profiler that refused what it was asked, and what it knew of itself then."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class ProfilerRefusal:
    # saved | running | waiting (its schedule has not come to a recording) | not started | entered twice
    # | directory | schedule | activities | options
    fault: str
    method: str  # as the user's line calls it: export_chrome_trace
    name: str = "prof"  # the user's variable
    schedule: dict[str, int] = field(default_factory=dict)  # wait=1, warmup=1, active=3 ...
    steps: int = 0  # calls of its step()
    stepped: bool = False  # the user's files call step() of it
    missing: tuple[str, ...] = ()  # options: with_stack ...; activities: the kinds that were passed
    folder: str = ""  # where its handler writes
    in_the_way: str = ""  # directory: the file that stands where a folder should be made
    place: Place = field(default_factory=Place)  # the other line that matters: where it was built, or saved
