"""Which module and parameter of one run is which of the other: by name, else by order and shape."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Mapping, Sequence

from torch_debugger.archive.comparing.evidence import RunEvidence
from torch_debugger.records import ModelFact, OptimizerFact

_Kinds = Mapping[str, Hashable]  # by name what else tells a module or a parameter


class Matching:
    """Names of the first run to names of the second."""

    def __init__(self, first: RunEvidence, second: RunEvidence) -> None:
        self.names: dict[str, str] = {}
        self.unmatched_first: list[str] = []
        self.unmatched_second: list[str] = []
        self.roots = paired([*_models(first)], [*_models(second)])
        self.optimizers = paired(_optimizers(first), _optimizers(second))
        for ours, theirs in self.roots.items():
            self._match_models(_models(first)[ours], _models(second)[theirs])

    def other(self, name: str) -> str:
        """The second run's name for it; the same one where nothing is known of it."""
        return self.names.get(name, name)

    @property
    def renamed(self) -> tuple[tuple[str, str], ...]:
        return tuple((ours, theirs) for ours, theirs in self.names.items() if ours != theirs)

    def _match_models(self, first: ModelFact, second: ModelFact) -> None:
        self.names[first.root] = second.root
        ours = {module.path: (module.kind, module.parameters) for module in first.modules[1:]}
        theirs = {module.path: (module.kind, module.parameters) for module in second.modules[1:]}
        self._match(ours, theirs, first.root, second.root)
        self._match(
            {parameter.path: parameter.shape for parameter in first.parameters},
            {parameter.path: parameter.shape for parameter in second.parameters},
            first.root,
            second.root,
        )

    def _match(self, ours: _Kinds, theirs: _Kinds, root: str, other: str) -> None:
        found = {name: self._carried(name, root, other) for name in ours}
        pairs = {name: to for name, to in found.items() if to in theirs and theirs[to] == ours[name]}
        pairs |= _aligned(ours, theirs, pairs)
        taken = set(pairs.values())
        pairs |= {
            name: to for name, to in found.items() if name not in pairs and to in theirs and to not in taken
        }
        self.names |= pairs
        self.unmatched_first += [name for name in ours if name not in pairs]
        self.unmatched_second += [name for name in theirs if name not in set(pairs.values())]

    def _carried(self, name: str, root: str, other: str) -> str:
        """The name that follows from its module's: net.fc1.weight is model.layers.0.weight."""
        owner, _, last = name.rpartition(".")
        known = self.names.get(owner)
        return f"{known}.{last}" if known else other + name.removeprefix(root)


def paired(first: Sequence[str], second: Sequence[str]) -> dict[str, str]:
    """Equal names to each other, the rest in order."""
    rest = [name for name in second if name not in first]
    others = zip([name for name in first if name not in second], rest, strict=False)
    return {name: name for name in first if name in second} | dict(others)


def _aligned(ours: _Kinds, theirs: _Kinds, pairs: dict[str, str]) -> dict[str, str]:
    left = [name for name in ours if name not in pairs]
    right = [name for name in theirs if name not in set(pairs.values())]
    kinds = [ours[name] for name in left]
    matcher = difflib.SequenceMatcher(None, kinds, [theirs[name] for name in right], autojunk=False)
    return {
        left[block.a + offset]: right[block.b + offset]
        for block in matcher.get_matching_blocks()
        for offset in range(block.size)
    }


def _models(run: RunEvidence) -> dict[str, ModelFact]:
    return {fact.root: fact for fact in run.facts(ModelFact)}


def _optimizers(run: RunEvidence) -> list[str]:
    return list(dict.fromkeys(fact.name for fact in run.facts(OptimizerFact)))
