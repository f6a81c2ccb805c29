"""All names that the user has for one object: `loader` in a function, `val_loader` where it is called."""

from __future__ import annotations

from types import FrameType

from torch_debugger.anatomy.kinds import own_attributes
from torch_debugger.anatomy.naming import scopes


def aliases(value: object, frame: FrameType | None) -> tuple[str, ...]:
    """Variables and attributes that hold it, the innermost first."""
    found: list[str] = []
    for names in scopes(frame):
        found += [name for name, held in names if held is value]
        for _, owner in names:
            found += [name for name, held in own_attributes(owner).items() if held is value]
    return tuple(dict.fromkeys(found))
