"""The models of a run: what their modules are and, where one forward was traced, what flowed between them."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.archive.run import Run
from torch_debugger.errors import UsageError
from torch_debugger.records import ModelFact, ModelFlow, ModuleFact, PhaseFact
from torch_debugger.records.op_graph import MODULE, GraphModule, GraphNode, GraphScope, ModelGraph

_NO_FLOW = (
    "No forward of this model was traced, so the drawing shows its modules in the order in which they are "
    "defined, without what flows between them."
)
_EARLY_END = "It is traced in the second step, and this run ended before that."
_CRASHED = "It is traced in the second step, and this run crashed before that."
_NOT_YET = "It is traced in the second step, which has not come yet."
_QUIET = "It is traced where it runs with gradients, and it ran without them (torch.no_grad or inference) only."
_UNHEARD = (
    "It is traced in a step that is looked at closely, from the second on. In this run there was none in which "
    "its calls could be heard: under torch.compile they are not, and a step that is short has few closer looks."
)


@dataclass(frozen=True)
class KnownModel:
    fact: ModelFact
    flow: ModelFlow | None
    why_no_flow: str = ""

    @property
    def graph(self) -> ModelGraph:
        return self.flow.graph if self.flow is not None else tree_of(self.fact, self.why_no_flow)

    def full_path(self, path: str) -> str:
        """encoder.0 of the graph is net.encoder.0 everywhere else."""
        return f"{self.fact.root}.{path}" if path else self.fact.root


def models_of(run: Run) -> dict[str, KnownModel]:
    """By the user's names, in the order in which they were met; the latest of a name counts."""
    facts: dict[str, ModelFact] = {}
    flows: dict[str, ModelFlow] = {}
    ways: dict[str, set[bool]] = {}  # whether a model was heard to run with gradients, without, or both
    for record in run.records(ModelFact, ModelFlow, PhaseFact):
        if isinstance(record, ModelFact):
            facts[record.root] = record
        elif isinstance(record, ModelFlow):
            flows[record.root] = record
        elif isinstance(record, PhaseFact):
            ways.setdefault(record.root, set()).add(record.grad)
    return {
        root: KnownModel(fact, flows.get(root), _why_no_flow(run, ways.get(root, set())))
        for root, fact in facts.items()
    }


def _why_no_flow(run: Run, ways: set[bool]) -> str:
    if run.steps >= 2:
        return _QUIET if ways == {False} else _UNHEARD  # a compiled model was not heard at all
    return {"running": _NOT_YET, "crashed": _CRASHED}.get(run.status, _EARLY_END)


def chosen_model(models: dict[str, KnownModel], root: str) -> KnownModel:
    """The one that was asked for, or that with the most parameters."""
    if root and root not in models:
        raise UsageError(f"There is no model {root!r} in this run.")
    return (
        models[root] if root else max(models.values(), key=lambda model: sizes_of(model.fact)[model.fact.root])
    )


def sizes_of(fact: ModelFact) -> dict[str, int]:
    """The parameters of each module with all below it."""
    found = {module.path: 0 for module in fact.modules}
    for module in fact.modules:
        for path in _above(module.path):
            if path in found:
                found[path] += module.parameters
    return found


def _above(path: str) -> list[str]:
    """net, net.encoder and net.encoder.0"""
    names = path.split(".")
    return [".".join(names[:end]) for end in range(1, len(names) + 1)]


def tree_of(fact: ModelFact, why_no_flow: str = "") -> ModelGraph:
    """Of a model that was not traced: each module as if it had been called once, by the one that holds it."""
    sizes, prefix = sizes_of(fact), f"{fact.root}."
    holders = {module.path.rpartition(".")[0] for module in fact.modules}
    leaves = [module for module in fact.modules if module.path not in holders or module.parameters]
    return ModelGraph(
        tuple(GraphNode(f"{module.path}/", MODULE, module.kind, module.path, ()) for module in leaves),
        (),
        tuple(_scope(module, prefix) for module in fact.modules),
        f"{_NO_FLOW} {why_no_flow}".strip(),
        tuple(
            GraphModule(_relative(module, prefix), module.kind, sizes[module.path], False)
            for module in fact.modules
        ),
    )


def _scope(module: ModuleFact, prefix: str) -> GraphScope:
    return GraphScope(
        module.path, _relative(module, prefix), module.kind, 1, "", module.path.rpartition(".")[0]
    )


def _relative(module: ModuleFact, prefix: str) -> str:
    return module.path.removeprefix(prefix) if module.path.startswith(prefix) else ""
