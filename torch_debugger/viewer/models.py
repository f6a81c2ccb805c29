"""A model of a run: its graph laid out, and its modules with their shapes, parameters, FLOPs and findings.

`root` names the model; without it the largest is told. `roots` are all there are, with graphs of `add_graph`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from torch_debugger.log.decoder_values import GRAPHS
from torch_debugger.log.run import Run
from torch_debugger.records import CallFact, Finding, ModelFact, ModelFlow, ModuleFact, PhaseFact
from torch_debugger.records.model import (
    MODULE,
    OPERATION,
    PARAMETER,
    UNKNOWN_FORM,
    GraphModule,
    GraphNode,
    GraphScope,
    ModelGraph,
)
from torch_debugger.report.model_graph_boxes import HEAD, PAD, TIP, count_text
from torch_debugger.report.model_graph_data import ModelParts, groups_of
from torch_debugger.report.model_graph_parts import Part
from torch_debugger.report.text import shown_path
from torch_debugger.system.errors import DebuggerError, UsageError
from torch_debugger.viewer.layer_numbers import NUMBERS, Values
from torch_debugger.viewer.layers import choices, four_figures, whole_grid
from torch_debugger.viewer.questions import UNMEASURED, Query, steps_to_show


def answer_model(query: Query) -> dict[str, Any]:
    return query.of_run(lambda run: _model(run, query.text("root")))


def _model(run: Run, root: str) -> dict[str, Any]:
    models = models_of(run)
    logged = names_of(run, list(models))
    roots = [*models, *logged]
    if not roots:
        return {"roots": [], "root": None}
    largest = chosen_model(models, "").fact.root if models else next(iter(logged))  # the one that is told unasked
    if (root or largest) in logged:
        name = root or largest
        return {"roots": roots, "largest": largest, **graph_answer(run, name, logged[name])}
    model = chosen_model(models, root)
    fact, flow, graph = model.fact, model.flow, model.graph
    return {
        "roots": roots,
        "largest": largest,
        "root": fact.root,
        "class": fact.kind,
        "step": flow.step if flow is not None else None,
        "note": graph.note,
        "drawing": layout_of(graph, flow),
        "modules": module_rows(model, run.findings, run.facts.run.folder if run.facts.run else None),
        "all_modules": len(fact.modules),
        "numbers": numbers_of(run, fact.root),
    }


# One number of every module of a model, by step: what the drawing is coloured by.
def answer_model_health(query: Query) -> dict[str, Any]:
    name, root = query.text("number"), query.text("root")
    if name not in NUMBERS:
        raise UsageError(f"There is no number {name!r}; there are {', '.join(NUMBERS)}.")
    return query.of_run(lambda run: health_of(run, root, name))


# The models of a run: what their modules are and, where one forward was traced, what flowed between them.
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
    # A compiled model was not heard at all.
    early = (
        "" if not facts or run.steps >= 2 else {"running": _NOT_YET, "crashed": _CRASHED}.get(run.status, _EARLY_END)
    )
    return {
        root: KnownModel(fact, flows.get(root), early or (_QUIET if ways.get(root) == {False} else _UNHEARD))
        for root, fact in facts.items()
    }


def chosen_model(models: dict[str, KnownModel], root: str) -> KnownModel:
    """The one that was asked for, or that with the most parameters."""
    if root and root not in models:
        raise UsageError(f"There is no model {root!r} in this run.")
    return models[root] if root else max(models.values(), key=lambda model: sizes_of(model.fact)[model.fact.root])


def sizes_of(fact: ModelFact) -> dict[str, int]:
    """The parameters of each module with all below it."""
    found = {module.path: 0 for module in fact.modules}
    for module in fact.modules:
        names = module.path.split(".")
        for end in range(1, len(names) + 1):  # net, net.encoder and net.encoder.0
            if (path := ".".join(names[:end])) in found:
                found[path] += module.parameters
    return found


def tree_of(fact: ModelFact, why_no_flow: str = "") -> ModelGraph:
    """Of a model that was not traced: each module as if it had been called once, by the one that holds it."""
    sizes, prefix = sizes_of(fact), f"{fact.root}."
    holders = {module.path.rpartition(".")[0] for module in fact.modules}
    leaves = [module for module in fact.modules if module.path not in holders or module.parameters]
    return ModelGraph(
        tuple(GraphNode(f"{module.path}/", MODULE, module.kind, module.path, ()) for module in leaves),
        (),
        tuple(
            GraphScope(module.path, _relative(module, prefix), module.kind, 1, "", module.path.rpartition(".")[0])
            for module in fact.modules
        ),
        f"{_NO_FLOW} {why_no_flow}".strip(),
        tuple(
            GraphModule(_relative(module, prefix), module.kind, sizes[module.path], False) for module in fact.modules
        ),
    )


def _relative(module: ModuleFact, prefix: str) -> str:
    return module.path.removeprefix(prefix) if module.path.startswith(prefix) else ""


# The numbers of layers as colours of a model's drawing; norms of weights count for all that holds them.
_MOST_STEPS = 120
_NORMS = ("parameter.gradient", "parameter.weight")


def numbers_of(run: Run, root: str) -> list[dict[str, str]]:
    """Those that were measured for this model."""
    measured = [each for each in choices(run)["numbers"] if root in each["models"]]
    return [{"key": each["key"], "title": each["title"], "says": each["says"]} for each in measured]


def health_of(run: Run, root: str, key: str) -> dict[str, Any]:
    """values[module][step] with null where a module was not measured."""
    number, grid = NUMBERS[key], whole_grid(run, key, root)
    chosen = steps_to_show(grid.values, _MOST_STEPS)
    modules, values = grid.layers, grid.values[:, chosen]
    if key in _NORMS:
        modules, values = with_holders(modules, values, root)
    return {
        "key": key,
        "title": number.title,
        "says": number.says,
        "steps": [grid.steps[place] for place in chosen],
        "modules": modules,
        "values": [[four_figures(value) for value in row] for row in values.tolist()],
    }


def with_holders(layers: list[str], values: Values, root: str) -> tuple[list[str], Values]:
    """The norm of all that a module holds, as far as it was measured."""
    places: dict[str, list[int]] = {}
    for place, layer in enumerate(layers):
        # net, net.encoder and net.encoder.0; a model's own name may have dots.
        names = layer[len(root) + 1 :].split(".") if layer != root else []
        for end in range(len(names) + 1):
            places.setdefault(".".join([root, *names[:end]]), []).append(place)
    return list(places), np.array([_norm(values[inside]) for inside in places.values()])


def _norm(values: Values) -> Values:
    known = values != UNMEASURED
    with np.errstate(invalid="ignore", over="ignore"):
        norm = np.sqrt(np.sum(np.square(np.where(known, values, 0.0)), axis=0))
    return np.where(known.any(axis=0), norm, UNMEASURED)


# The modules of a model as rows: for the panel beside the drawing, and for the table instead of it.
MOST_MODULES = 3000
_MOST_PARAMETERS = 12  # told one by one
_MOST_SHAPES = 4


def module_rows(model: KnownModel, findings: list[Finding], folder: str | None) -> list[dict[str, Any]]:
    """In the order of definition; callers before what they call."""
    sizes, flops, calls = sizes_of(model.fact), Arithmetic(model.flow).by_path(), _calls(model)
    flops = _with_holders({model.full_path(path): each for path, each in flops.items()}, model)
    own = _own_parameters(model)
    findings_by_module = defaultdict(list)
    for finding in findings:
        shown = {"name": finding.name, "severity": finding.severity, "message": finding.message}
        findings_by_module[finding.where.module or ""].append(shown)
    rows = []
    for module in model.fact.modules[:MOST_MODULES]:
        made = calls.get(module.path, [])
        count, place = flops.get(module.path), module.place
        rows.append(
            {
                "path": module.path,
                "class": module.kind,
                "parameters": sizes[module.path],
                "own": own.get(module.path, []),
                "calls": len(made) if model.flow is not None else None,
                "given": [list(shape) for shape in made[0].given[:_MOST_SHAPES]] if made else [],
                "made": [list(shape) for shape in made[0].made[:_MOST_SHAPES]] if made else [],
                "flops": count.known if count is not None else None,
                "missing": count.missing if count is not None else "",
                "findings": findings_by_module.get(module.path, []),
                "place": {"file": shown_path(place.file, folder), "line": place.line, "code": place.code}
                if place.file is not None
                else None,
            }
        )
    return rows


def _with_holders(flops: dict[str, Flops], model: KnownModel) -> dict[str, Flops]:
    """Also for module lists, which are not called themselves: those of their members."""
    found = dict(flops)
    for module in reversed(model.fact.modules):
        above = module.path.rpartition(".")[0]
        if module.path in found and above and above not in flops:
            found[above] = found[above] + found[module.path] if above in found else found[module.path]
    return found


def _calls(model: KnownModel) -> dict[str, list[CallFact]]:
    found: dict[str, list[CallFact]] = defaultdict(list)
    if model.flow is not None:
        numbers = {call.scope: call for call in model.flow.calls}
        for scope in model.flow.graph.scopes:
            if scope.name in numbers:
                found[model.full_path(scope.path)].append(numbers[scope.name])
    return found


def _own_parameters(model: KnownModel) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for parameter in model.fact.parameters:
        path, _, name = parameter.path.rpartition(".")
        if len(found[path]) < _MOST_PARAMETERS:
            found[path].append(
                {
                    "name": name,
                    "shape": list(parameter.shape),
                    "dtype": parameter.dtype,
                    "trainable": parameter.trainable,
                }
            )
    return found


# The drawing of a model as data for the page: the inside of each part laid out once, whatever else is open.
FIRST_BOXES = 40  # that are seen when a page opens


@lru_cache(maxsize=8)
def layout_of(graph: ModelGraph, flow: ModelFlow | None) -> dict[str, Any]:
    """Kept, as it takes a moment: a graph is the same for the whole of a run."""
    arithmetic = Arithmetic(flow)

    def flops(part: Part) -> str:
        found = arithmetic.of_part(part)
        if found is None or (not found.known and not found.missing):
            return ""
        return f"{'at least ' if found.missing else ''}{count_text(found.known)} FLOPs" if found.known else ""

    model = ModelParts(graph, flops, folds=True)
    opened = model.openings.automatic(most=FIRST_BOXES)
    groups = groups_of(model, opened)
    return {
        "pad": PAD,
        "head": HEAD,
        "tip": TIP,
        "opened": [key for key in groups if key in opened],
        "groups": groups,
    }


# FLOPs of calls and modules: those of a call's own operations and of all calls inside it.
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
                    self.by_scope[scope.caller] = self.by_scope.get(scope.caller, Flops(0)) + total

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


# Graphs that a SummaryWriter's `add_graph` has logged, in the form of the models that we have watched.
_TAG = "graph"
_MOST_DRAWN = 20_000  # operations; beyond, a page would wait for minutes
_MOST_LOGGED_SHAPES, _MOST_OWN, _MOST_OPERATIONS = 4, 12, 8


def names_of(run: Run, taken: list[str]) -> dict[str, int]:
    """Steps by the names under which they are offered; `taken` are those of watched models."""
    steps = run.steps_of(GRAPHS).get(_TAG, [])
    named = {"add_graph" if len(steps) == 1 else f"add_graph, step {step:,}": step for step in steps}
    return {f"{name} (logged)" if name in taken else name: step for name, step in named.items()}


def graph_answer(run: Run, name: str, step: int) -> dict[str, Any]:
    """As the question `model` answers. Raises DebuggerError for a graph that cannot be read or drawn."""
    found = run.media_at(GRAPHS, _TAG, [step])
    if not found:
        raise DebuggerError(f"The graph that was logged at step {step} is damaged: its bytes are no GraphDef.")
    graph: ModelGraph = found[-1]
    if len(graph.nodes) > _MOST_DRAWN:
        raise DebuggerError(
            f"The graph that was logged at step {step} has {len(graph.nodes):,} nodes; "
            f"more than {_MOST_DRAWN:,} are not drawn."
        )
    again = f"The last of {len(found)} graphs that were logged at this step is shown." if len(found) > 1 else ""
    top = graph.scopes[0].module if graph.scopes else ""
    return {
        "root": name,
        "class": top,
        "step": None,
        "logged": True,
        "operations": sum(node.kind == OPERATION for node in graph.nodes),
        "note": " ".join(filter(None, [graph.note, again])),
        "drawing": layout_of(graph, None),
        "modules": _rows(graph, name),
        "all_modules": len(graph.modules),
        "numbers": [],
    }


@lru_cache(maxsize=4)
def _rows(graph: ModelGraph, name: str) -> list[dict[str, Any]]:
    """One for each module, with the operations that stand directly in it."""
    path_of = {scope.name: scope.path for scope in graph.scopes}
    calls = Counter(scope.path for scope in graph.scopes)
    own: dict[str, list[GraphNode]] = defaultdict(list)
    ops: dict[str, Counter[str]] = defaultdict(Counter)
    for node in graph.nodes:
        if node.kind == PARAMETER:
            # torch's traces name a parameter by its module, ours say the scope.
            path = path_of.get(node.scope, "") if node.scope else ".".join(node.name.split("/")[1:-1])
            own[path].append(node)
        elif node.kind == OPERATION:
            ops[path_of.get(node.scope, "")][node.op] += 1
    entering, made = _edges(graph, path_of)
    return [
        _row(module, name, own[module.path], ops[module.path])
        | {"calls": calls[module.path], "given": entering[module.path], "made": made[module.path]}
        for module in graph.modules[:MOST_MODULES]
    ]


def _row(module: GraphModule, name: str, own: list[GraphNode], ops: Counter[str]) -> dict[str, Any]:
    return {
        "path": f"{name}.{module.path}" if module.path else name,
        "class": module.module,
        "parameters": module.parameters,
        "own": [
            {
                "name": node.name.rpartition("/")[2],
                "shape": list(node.outputs[0].shape) if node.outputs[0] != UNKNOWN_FORM else None,
                "dtype": node.outputs[0].dtype if node.outputs[0] != UNKNOWN_FORM else "",
                "trainable": None,
            }
            for node in own[:_MOST_OWN]
        ],
        "operations": [[op, count] for op, count in ops.most_common(_MOST_OPERATIONS)],
        "flops": None,
        "missing": "",
        "findings": [],
        "place": None,
    }


def _edges(graph: ModelGraph, path_of: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The shapes that come into each module from outside of it, and those that leave it."""
    entering: dict[str, list[list[int]]] = defaultdict(list)
    made: dict[str, list[list[int]]] = defaultdict(list)
    for edge in graph.edges:
        source, target = graph.nodes[edge.source], graph.nodes[edge.target]
        if edge.form == UNKNOWN_FORM or source.kind == PARAMETER:
            continue
        left, entered = (_modules_around(path_of.get(node.scope)) for node in (source, target))
        shape = list(edge.form.shape)
        for paths, shapes in ((entered - left, entering), (left - entered, made)):
            for path in paths:
                if shape not in shapes[path] and len(shapes[path]) < _MOST_LOGGED_SHAPES:
                    shapes[path].append(shape)
    return entering, made


@lru_cache(maxsize=65536)
def _modules_around(path: str | None) -> frozenset[str]:
    """Of layers.0.conv1 itself, layers.0, layers and the model; nothing outside of the model."""
    if path is None:
        return frozenset()
    names = path.split(".") if path else []
    return frozenset(".".join(names[:end]) for end in range(len(names) + 1))
