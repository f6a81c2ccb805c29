"""Parts of a model that no gradient reaches although an optimizer holds them: traced once, to say why.

The ledger names them. Two deep steps must agree; only then is a step traced, with hooks that see in
which order modules run and where the graph is lost. A model that is reached everywhere costs nothing.
"""

from __future__ import annotations

import dataclasses

import torch
from torch import nn

from torch_debugger.anatomy.constructors import constructor_places
from torch_debugger.probes.ledger import Ledger
from torch_debugger.probes.loose_ends import explain_part
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.sampling import DEEP
from torch_debugger.probes.tracing import Tracing
from torch_debugger.probes.watch import Watch
from torch_debugger.records import LedgerRow, Place, UnreachedPart
from torch_debugger.stats.summary import sampled


class Unreached(Probe):
    name = "unreached parts"
    deep_only = True
    AGREEING = 2  # deep steps
    TRACES = 4  # steps traced in one run
    PARTS = 8  # told of one model

    def __init__(self, watch: Watch, ledger: Ledger) -> None:
        super().__init__(watch)
        self.ledger = ledger
        self._counts: dict[str, dict[str, int]] = {}  # root -> part -> deep steps in a row
        self._wanted: dict[str, list[str]] = {}  # root -> parts to be explained
        self._explained: dict[str, tuple[UnreachedPart, torch.Tensor, torch.Tensor]] = {}
        self._tracing = Tracing(watch, ledger.roots)
        self._traces = 0

    def begin_step(self, depth: int) -> None:
        self._tracing.stop()
        if depth == DEEP and self._wanted and not self.ledger.forward.paused and self._traces < self.TRACES:
            self._traces += 1
            self._tracing.start()

    def end_step(self) -> None:
        if self.watch.depth != DEEP:
            return
        for root, module in self.ledger.roots.alive():
            rows = self.ledger.latest.get(root.name)
            if rows is not None and rows[0] == self.watch.step:
                parts = unreached_parts(module, root.name, rows[1])
                self._explain(root.name, module, parts, rows[1])
                self._count(root.name, parts)

    def remove(self) -> None:
        """The run is over: what was never reached has not moved either."""
        self._tracing.stop()
        for fact, parameter, sample in self._explained.values():
            if torch.equal(sampled(parameter), sample):
                self.watch.emit(dataclasses.replace(fact, step=self.watch.clock.step, at_end=True))

    def _explain(self, root: str, module: nn.Module, parts: list[str], rows: tuple[LedgerRow, ...]) -> None:
        wanted = [part for part in self._wanted.pop(root, []) if part in parts]
        if not self._tracing.calls:
            return
        places = constructor_places(module, root) if wanted else {}
        for part in wanted:
            fact = self._fact(root, module, part, rows, places.get(part) or Place())
            # Kept by itself, not by a weak reference: most models are gone when their script is over.
            parameter = _smallest_parameter(module, root, part)
            self._explained[part] = fact, parameter, sampled(parameter).clone()
            self.watch.emit(fact)

    def _fact(
        self, root: str, module: nn.Module, part: str, rows: tuple[LedgerRow, ...], place: Place
    ) -> UnreachedPart:
        own = [row for row in rows if _lies_in(row.name, part)]
        inner = (
            module.get_submodule(part.removeprefix(root).strip(".")) if _is_module(module, root, part) else None
        )
        found = explain_part(module, root, part, self._tracing.calls)
        return UnreachedPart(
            root=root,
            part=part,
            kind=type(inner).__name__ if inner is not None else "Parameter",
            place=place,
            parameters=len(own),
            elements=sum(row.elements for row in own),
            reason=found.reason,
            cut=found.place,
            following=found.following,
            instead=found.instead,
            training=inner.training if inner is not None else module.training,
            step=self.watch.step,
        )

    def _count(self, root: str, parts: list[str]) -> None:
        before = self._counts.get(root, {})
        now = self._counts[root] = {part: before.get(part, 0) + 1 for part in parts}
        agreed = [part for part, count in now.items() if count >= self.AGREEING and part not in self._explained]
        if agreed:
            self._wanted[root] = agreed[: self.PARTS]
            if self._traces < self.TRACES:
                self.watch.governor.request(2)


def unreached_parts(module: nn.Module, root: str, rows: tuple[LedgerRow, ...]) -> list[str]:
    """The largest modules of which nothing that an optimizer holds has a gradient, then single parameters."""
    held = [row for row in rows if row.trainable and row.in_optimizer]
    lost = {row.name for row in held if row.gradient == "none"}
    found: list[str] = []
    for path, _ in module.named_modules():
        full = f"{root}.{path}" if path else root
        own = [row.name for row in held if _lies_in(row.name, full)] if lost else []
        if own and lost.issuperset(own) and not any(_lies_in(full, part) for part in found):
            found.append(full)
    return found + sorted(name for name in lost if not any(_lies_in(name, part) for part in found))


def _smallest_parameter(module: nn.Module, root: str, part: str) -> torch.Tensor:
    named = [(f"{root}.{name}", parameter) for name, parameter in module.named_parameters()]
    return min((p for name, p in named if p.requires_grad and _lies_in(name, part)), key=torch.numel)


def _lies_in(name: str, part: str) -> bool:
    return name == part or name.startswith(part + ".")


def _is_module(module: nn.Module, root: str, part: str) -> bool:
    return any((f"{root}.{path}" if path else root) == part for path, _ in module.named_modules())
