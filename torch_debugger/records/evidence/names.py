"""A name that was asked of a module or object, and the names that exist."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class NameEvidence:
    """A name that does not exist where it was looked for."""

    asked: str  # Watchdog, fc_1, learning_rate, torch.utils.ffi
    # attribute, import, package, keyword, missing-argument, removed, called, indexed, number, variable, syntax
    form: str
    owner: str = ""  # what was asked, under its public name: torch.distributed, torch.Tensor, Net
    kind: str = ""  # module, class, tensor, layer, object, function
    lineage: tuple[str, ...] = ()  # the public names of the owner's classes, itself first
    near: tuple[str, ...] = ()  # names that exist there, the nearest first
    elsewhere: tuple[str, ...] = ()  # where in torch that very name exists: torch.nn.CrossEntropyLoss
    keywords: tuple[str, ...] = ()  # what a function takes
    refused: tuple[str, ...] = ()  # all keywords of the call that it does not take
    inner: str = ""  # the part or object that has the name: module for a wrapped model, self for a layer
    place: Place = field(default_factory=Place)  # the user's line that would set it
    place_form: str = (
        ""  # local: it lacks `self.`; later: it comes after its use; method: in a method not called
    )
    # variable: the lines that bind it, and how: below (all of them), branch (not taken), loop (made no pass),
    # augmented (+= before any value), global (of that name, and the function assigns its own), deleted, module
    # (that can be imported)
    bound: tuple[Place, ...] = ()
    binding: str = ""
    loop_name: str = ""  # variable: what the loop around the line calls its counter or its element
    ours: tuple[str, ...] = ()  # what torch_debugger itself offers
    version: str = ""  # of torch
