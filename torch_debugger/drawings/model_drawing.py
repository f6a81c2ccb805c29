"""`model_graph(model, inputs)`: a model and what flows through it, as a drawing that opens and closes."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import nn

from torch_debugger.anatomy.counting.given_inputs import is_size
from torch_debugger.anatomy.graph_calls import Call
from torch_debugger.anatomy.model_graph import model_graph as recorded_graph
from torch_debugger.diagrams.captions import count_text
from torch_debugger.diagrams.model_data import model_data
from torch_debugger.diagrams.model_parts import ModelParts
from torch_debugger.drawings.model_html import model_html
from torch_debugger.drawings.model_svg import model_svg
from torch_debugger.drawings.model_text import model_text
from torch_debugger.drawings.sample_inputs import sample_inputs
from torch_debugger.drawings.unused import unused_line
from torch_debugger.errors import UsageError
from torch_debugger.records.op_graph import OPERATION, ModelGraph

if TYPE_CHECKING:
    from torch_debugger.pictures.picture import Picture

_KINDS = (".svg", ".png", ".html", ".txt")


def model_graph(
    model: nn.Module, *inputs: Any, input_size: Any = None, depth: int | None = None, **kwargs: Any
) -> ModelDrawing:
    """What a model does with an input: its modules, the operations between them, and every tensor's way.

        torch_debugger.model_graph(model, images)               # in a notebook: shown
        torch_debugger.model_graph(model, ids, mask).save("model.html")
        torch_debugger.model_graph(model, (1, 3, 224, 224)).save("model.svg")
        print(torch_debugger.model_graph(model, {"input_ids": ids}, depth=2))

    Comes back as a `ModelDrawing`. Inputs are the arguments of forward: one after another, as a tuple or
    list, as a dictionary of keywords or as keywords; or a size, also as `input_size`, as torchinfo takes it.
    The model runs once, in evaluation mode and on copies, and is left as it was. As many modules are open as
    can be read, at most 150 boxes; `depth` opens fewer. A model that cannot be run gives its modules, and
    says why.
    """
    if not isinstance(model, nn.Module):
        raise UsageError(f"model_graph() takes a model, an `nn.Module`, but got {type(model).__name__}.")
    if (inputs or kwargs) and input_size is not None:
        raise UsageError("model_graph() takes inputs or input_size, not both.")
    if depth is not None and depth < 1:
        raise UsageError(f"depth is at least 1, the modules of the model itself, but got {depth}.")
    if input_size is None and inputs and not kwargs and all(is_size(item) for item in inputs):
        input_size = list(inputs)
    graphs = (recorded_graph(model, call) for call in _calls(model, inputs, input_size, kwargs))
    first = next(graphs)
    whole = first if not first.note else next((graph for graph in graphs if not graph.note), first)
    return ModelDrawing(whole, depth)


def _calls(model: nn.Module, inputs: tuple[Any, ...], input_size: Any, keywords: dict[str, Any]) -> list[Any]:
    if input_size is not None:
        return list(sample_inputs(model, input_size))
    if keywords:
        return [Call(inputs, keywords)]
    return [inputs[0] if len(inputs) == 1 else inputs or None]


class ModelDrawing:
    """A model's graph, laid out; plain data, no tensor and no module is held.

    drawing                                        # in a notebook: shown; print() gives text
    drawing.svg(expanded=["layer1.0"])             # with this module open too
    drawing.save("model.html")                     # or .svg, .png, .txt
    drawing.to_dict()                              # everything a page needs to open and close modules
    drawing.picture().log(writer, "model")
    """

    def __init__(self, graph: ModelGraph, depth: int | None = None) -> None:
        self.graph = graph
        self.note = graph.note
        self._parts = ModelParts(graph)
        self._depth = depth

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<ModelDrawing: {self._title()}>"

    def text(self, depth: int | None = None, expanded: Collection[str] = ()) -> str:
        opened = self._parts.opened(self._parts.root, self._opened(depth, expanded))
        return model_text(self._heading(), opened, self._parts.lines)

    def svg(self, depth: int | None = None, expanded: Collection[str] = ()) -> str:
        """`depth` opens modules so deep, while it can be read; `expanded` names more to open and unfold."""
        return model_svg(self._parts.scene(self._opened(depth, expanded)), self._heading())

    def html(self, depth: int | None = None, expanded: Collection[str] = ()) -> str:
        return model_html(self._data(depth, expanded))

    def picture(self, depth: int | None = None, expanded: Collection[str] = ()) -> Picture:
        from torch_debugger.drawings.model_picture import model_figure
        from torch_debugger.pictures.picture import Picture

        scene, heading = self._parts.scene(self._opened(depth, expanded)), self._heading()
        return Picture(self._title(), {}, lambda: model_figure(scene, heading))

    def to_dict(self) -> dict[str, Any]:
        """Modules, boxes, edges, and the layout of every module's inside: ready for JSON."""
        return self._data(None, ())

    def save(self, path: str | Path, depth: int | None = None, expanded: Collection[str] = ()) -> Path:
        path = Path(path)
        kind = path.suffix.lower()
        if kind not in _KINDS:
            raise UsageError(
                f"a model's graph is saved as {', '.join(_KINDS)}, but {path.name!r} ends otherwise."
            )
        if not path.parent.is_dir():
            raise UsageError(f"no folder {str(path.parent)!r} to save {path.name!r} in: make it first.")
        if kind == ".png":
            return self.picture(depth, expanded).save(path)
        written = {".svg": self.svg, ".html": self.html, ".txt": self.text}[kind](depth, expanded)
        path.write_text(written, encoding="utf-8")
        return path

    def _repr_svg_(self) -> str:
        return self.svg()

    def _data(self, depth: int | None, expanded: Collection[str]) -> dict[str, Any]:
        return model_data(self._parts, self._heading(), self._opened(depth, expanded))

    def _opened(self, depth: int | None, expanded: Collection[str]) -> set[str]:
        openings = self._parts.openings
        return openings.with_paths(openings.automatic(self._depth if depth is None else depth), expanded)

    def _title(self) -> str:
        operations = sum(node.kind == OPERATION for node in self.graph.nodes)
        held = self.graph.modules[0].parameters if self.graph.modules else 0
        counted = f"{operations:,} operation{'s' if operations > 1 else ''}" if operations else ""
        told = [counted, f"{count_text(held)} parameters"]
        return f"{self._parts.root.name or 'model'}: {', '.join(filter(None, told))}"

    def _heading(self) -> list[str]:
        return [self._title(), *([self.note] if self.note else []), *unused_line(self.graph)]
