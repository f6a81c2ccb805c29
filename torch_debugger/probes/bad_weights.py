"""Weights that are not finite: were they born so, or did an update make them?"""

from __future__ import annotations

import math

from torch import nn

from torch_debugger.anatomy.statements import attribute_place, setting_of
from torch_debugger.probes.held import Held
from torch_debugger.probes.nonfinite import BadWeight
from torch_debugger.probes.optimizers import Optimizers, group_numbers
from torch_debugger.probes.roots import Roots
from torch_debugger.records import Origin, Place


class BadWeights:
    def __init__(self, roots: Roots, optimizers: Optimizers) -> None:
        self.roots = roots
        self.optimizers = optimizers

    def explain(self, name: str, born: bool) -> BadWeight:
        """born: it was so before any update, even if there have been some since."""
        owner, parameter = self._find(name)
        held, numbers = self._holder(parameter)
        module, _, attribute = name.rpartition(".")
        if held is not None and held.steps and not born:
            place = held.place
            if not math.isfinite(numbers.get("lr", 0.0)) and held.place.file:
                place = setting_of(held.place.file, "lr") or held.place
            origin = Origin("weights", module, None, place, given=name)
            return BadWeight(origin, held.name, numbers, held.looked == held.steps - 1)
        written = attribute_place(type(owner), attribute) if owner is not None else None
        return BadWeight(Origin("weights", module, None, written or Place(), given=name))

    def _find(self, name: str) -> tuple[nn.Module | None, nn.Parameter | None]:
        for root, module in self.roots.alive():
            for path, child in module.named_modules():
                for own, parameter in child.named_parameters(recurse=False):
                    if ".".join(part for part in (root.name, path, own) if part) == name:
                        return child, parameter
        return None, None

    def _holder(self, parameter: nn.Parameter | None) -> tuple[Held | None, dict[str, float]]:
        for held, optimizer in self.optimizers.live():
            for group in optimizer.param_groups:
                if any(each is parameter for each in group["params"]):
                    return held, group_numbers(group)
        return None, {}
