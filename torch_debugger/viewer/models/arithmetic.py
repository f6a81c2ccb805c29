"""FLOPs of calls and modules: those of a call's own operations and of all calls inside it."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.diagrams.parts import Part
from torch_debugger.records import ModelFlow
from torch_debugger.records.op_graph import MODULE

FLOPS_OF_A_MAC = 2


@dataclass(frozen=True)
class Flops:
    """`known` is a lower bound where `missing` says what is not in it."""

    known: int
    missing: str = ""

    def __add__(self, other: Flops) -> Flops:
        return Flops(self.known + other.known, self.missing or other.missing)


class Arithmetic:
    def __init__(self, flow: ModelFlow | None) -> None:
        self.by_scope: dict[str, Flops] = {}  # with all calls inside
        self._paths: dict[str, str] = {}
        if flow is not None:
            self._paths = {scope.name: scope.path for scope in flow.graph.scopes}
            self._sum_up(flow)

    def of_part(self, part: Part) -> Flops | None:
        """None where nothing was traced, and for operations, which count with the call that they are in."""
        if part.kind == MODULE and self._paths.get(part.scope, "") == part.path and part.scope in self.by_scope:
            return self.by_scope[part.scope]
        inner = [found for each in part.parts if (found := self.of_part(each)) is not None]
        return sum(inner[1:], inner[0]) if inner else None

    def by_path(self) -> dict[str, Flops]:
        """Of all calls of a module together."""
        found: dict[str, Flops] = {}
        for scope, flops in self.by_scope.items():
            path = self._paths[scope]
            found[path] = found[path] + flops if path in found else flops
        return found

    def _sum_up(self, flow: ModelFlow) -> None:
        own = {call.scope: call for call in flow.calls}
        for scope in reversed(flow.graph.scopes):  # a call stands behind the one that made it
            call = own.get(scope.name)
            missing = "The call was not seen to its end." if call is None else call.uncounted
            if missing:
                missing = f"{scope.path or flow.root}: {missing}"
            flops = Flops(FLOPS_OF_A_MAC * ((call.macs if call is not None else 0) or 0), missing)
            total = flops + self.by_scope.get(scope.name, Flops(0))
            self.by_scope[scope.name] = total
            if scope.caller:
                above = self.by_scope.get(scope.caller, Flops(0))
                self.by_scope[scope.caller] = above + total
