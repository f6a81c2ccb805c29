"""Which models a run has, and which of them a layer belongs to."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.archive.run import Run
from torch_debugger.records import ModelFact, ModuleFact


class Models:
    """By the user's own names for them; a model that was told twice (it grew) is as it was told last."""

    def __init__(self, run: Run) -> None:
        facts = [fact for fact in run.records(ModelFact) if isinstance(fact, ModelFact)]
        self.facts = {fact.root: fact for fact in facts}

    def root_of(self, layer: str) -> str:
        """The longest name of a model that a path begins with; else its first part."""
        inside = [root for root in self.facts if layer == root or layer.startswith(f"{root}.")]
        return max(inside, key=len, default=layer.split(".")[0])

    def sorted_layers(self, layers: Iterable[str], ran: dict[str, None]) -> list[str]:
        """In the order in which they ran; those that were not seen to run, as they are defined, after these."""
        known = {name: place for place, name in enumerate([*ran, *self._defined(ran)])}
        return sorted(dict.fromkeys(layers), key=lambda name: known.get(name, len(known)))

    def module(self, layer: str) -> ModuleFact | None:
        fact = self.facts.get(self.root_of(layer))
        return next((each for each in fact.modules if each.path == layer), None) if fact is not None else None

    def _defined(self, ran: dict[str, None]) -> list[str]:
        paths = [module.path for fact in self.facts.values() for module in fact.modules]
        return [path for path in paths if path not in ran]
