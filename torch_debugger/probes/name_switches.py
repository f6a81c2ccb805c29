"""Lines that should freeze or unfreeze parameters and do not: by names that none has, or by `==`.

The source is read once; tests of names are asked again on deep steps, with the names that the models have then.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable

from torch import nn

from torch_debugger.anatomy.name_tests import NameTest, bare_comparisons, name_tests
from torch_debugger.anatomy.sources import is_user_file
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.roots import Roots
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Place, UnmatchedSwitch

_WRAPPERS = ("module.", "_orig_mod.")


class NameSwitches(Probe):
    name = "gradient switches by name"
    deep_only = True

    def __init__(self, watch: Watch, roots: Roots) -> None:
        super().__init__(watch)
        self.roots = roots

    def end_step(self) -> None:
        """After a deep step, and when the run is over."""
        alive = [(root.name, module) for root, module in self.roots.alive() if _is_model(module)]
        script = getattr(sys.modules.get("__main__"), "__file__", None)
        for test in _tests(script) if alive and isinstance(script, str) else ():
            own = [pair for pair in alive if pair[0] == test.owner]
            if not any(test.lets_through(name) for name in _names(own or alive, exactly=bool(own))):
                self._tell(test.text, test.value, test.place, own or alive)
        for place, value in _comparisons(script) if alive and isinstance(script, str) else ():
            self._tell("", value, place, alive)

    def _tell(self, test: str, value: bool, place: Place, models: list[tuple[str, nn.Module]]) -> None:
        root, module = models[-1]
        parameters = [parameter for _, each in models for parameter in each.parameters()]
        self.watch.emit(
            UnmatchedSwitch(
                root=root,
                test=test,
                value=value,
                names=tuple(name for name, _ in module.named_parameters())[:2],
                trainable=sum(p.numel() for p in parameters if p.requires_grad),
                frozen=sum(p.numel() for p in parameters if not p.requires_grad),
                place=place,
                step=self.watch.step,
            )
        )


def _is_model(module: nn.Module) -> bool:
    return next(module.parameters(), None) is not None


@functools.lru_cache(maxsize=4)
def _tests(script: str) -> list[NameTest]:
    return name_tests(script) if is_user_file(script) else []


@functools.lru_cache(maxsize=4)
def _comparisons(script: str) -> list[tuple[Place, bool]]:
    return bare_comparisons(script) if is_user_file(script) else []


def _names(models: list[tuple[str, nn.Module]], exactly: bool) -> Iterable[str]:
    """As named_parameters() of the model gives them; else as that of any of its parts might."""
    for _, module in models:
        for name, _ in module.named_parameters():
            for wrapper in _WRAPPERS:
                name = name.removeprefix(wrapper)
            parts = name.split(".")
            yield from (".".join(parts[start:]) for start in range(1 if exactly else len(parts)))
