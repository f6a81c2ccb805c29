"""Parameters that a batch passes by: of layers which the forward knows and did not run this time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from torch_debugger.anatomy.mentions import is_never_read
from torch_debugger.trials.preflight.case import Case


@contextmanager
def runs_noted(case: Case) -> Iterator[set[int]]:
    """The ids of the modules that run inside."""
    ran: set[int] = set()

    def note(module: nn.Module, *_: object) -> None:
        ran.add(id(module))

    handles = [module.register_forward_hook(note) for module in case.modules()]
    try:
        yield ran
    finally:
        for handle in handles:
            handle.remove()


def is_passed_by(case: Case, name: str, ran: set[int]) -> bool:
    """Whether a layer on the way to this parameter did not run, though lines of the user's speak of it."""
    root, *parts = name.split(".")
    module = case.models[root]
    for part in parts[:-1]:
        child = getattr(module, part)
        holds_others = isinstance(module, (nn.ModuleList, nn.ModuleDict))
        if id(child) not in ran and not isinstance(child, (nn.ModuleList, nn.ModuleDict)):
            return holds_others or not is_never_read(module, part)
        module = child
    return False
