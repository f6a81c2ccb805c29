"""Looking inside by hand: one call, one look, nothing left behind."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import html
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy
import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from torch_debugger.model.hooks import in_backward, listening, not_called, uncompiled
from torch_debugger.model.layers import ChosenLayers, Layers, chosen_layers, clean_path, inner_model
from torch_debugger.model.nested_tensors import copied, named_leaves, tensors_in
from torch_debugger.model.reruns import as_if_never
from torch_debugger.source.frames import shown_where_bare
from torch_debugger.stats.values import Counted, TensorStats, count, read_counted, take_stats
from torch_debugger.system.errors import UsageError


# What every layer gives for one input.
def activations(
    model: nn.Module,
    *inputs: Any,
    layers: Layers = "*",
    keep: str = "stats",
    grad: bool = False,
    **keywords: Any,
) -> Readings:
    """Runs the model once and returns what each layer gave, at the moment it gave it.

        seen = activations(model, images, layers="encoder.*")
        print(seen)                        # one line a layer
        seen["encoder.0"].std              # a number
        activations(model, images, layers=[nn.Conv2d, nn.ReLU], keep="tensors")["conv1"]

    `layers` are patterns of paths, classes, or several of both; of several classes those that the model
    has no layer of are left out, and the table says so. The model runs in its present mode
    (train or eval) on copies of the inputs, without gradients unless `grad=True`, and is left as it
    was: buffers, random numbers, hooks. All other keywords go to the model.
    """
    inner = inner_model(model)
    chosen = chosen_layers(inner, layers)
    keep_one = keeper(keep)
    seen: dict[str, Any] = {}

    def look(call: str, module: nn.Module, arguments: Any, output: Any) -> None:
        seen.update({call + way: keep_one(tensor) for way, tensor in named_leaves(output)})

    with as_if_never(inner), torch.set_grad_enabled(grad), listening(chosen, look) as ran:
        inner(*copied(inputs), **copied(keywords))
    return shown_where_bare(Readings(finished(seen), not_called(chosen, ran), "not called", absent=chosen.absent))


# The gradients of one backward: of every layer's output, and of every parameter.
Loss = Callable[[Any], torch.Tensor]


class Gradients:
    """`outputs` by layer, `parameters` by name, and the `loss` they belong to."""

    def __init__(self, loss: float, outputs: Readings, parameters: Readings) -> None:
        self.loss = loss
        self.outputs = outputs
        self.parameters = parameters

    def to_dict(self) -> dict[str, Any]:
        return {"loss": self.loss, "outputs": self.outputs.to_dict(), "parameters": self.parameters.to_dict()}

    def __str__(self) -> str:
        return (
            f"loss {self.loss:.6g}\n\ngradients of outputs\n{self.outputs}\n\n"
            f"gradients of parameters\n{self.parameters}"
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def gradients(
    model: nn.Module,
    *inputs: Any,
    loss: Loss | None = None,
    layers: Layers = "*",
    keep: str = "stats",
    **keywords: Any,
) -> Gradients:
    """Runs one forward and one backward; no `.grad` is touched, and nothing is left behind.

        found = gradients(model, images, loss=lambda output: F.cross_entropy(output, labels))
        found.outputs["encoder.0"].std     # the gradient of what `encoder.0` gave
        found.parameters["fc.weight"].max

    `loss` makes a number of the model's output; it can be left out where the output is one, or has
    one called `loss`. `layers` and `keep` are as in `activations`.
    """
    inner = inner_model(model)
    chosen = chosen_layers(inner, layers)
    keep_one = keeper(keep)
    follower = _Follower(keep_one)
    with torch.inference_mode(False), as_if_never(inner), torch.enable_grad():
        with listening(chosen, follower.follow) as ran:
            value = _loss_of(inner(*copied(inputs), **copied(keywords)), loss)
        follower.forward_ended()
        trained = {name: each for name, each in inner.named_parameters() if each.requires_grad}
        gradients = torch.autograd.grad(value, list(trained.values()), allow_unused=True) if trained else ()
    found = dict(zip(map(clean_path, trained), gradients, strict=True))
    outputs = follower.readings(not_called(chosen, ran), chosen.absent)
    number = math.nan if value.is_meta else value.item()
    owned = {id(each) for module in chosen.values() for each in module.parameters(recurse=False)}
    names = [clean_path(name) for name, each in inner.named_parameters() if id(each) in owned]
    seen = {name: keep_one(found[name]) for name in names if found.get(name) is not None}
    missing = [name for name in names if name in found and name not in seen]
    parameters = Readings(finished(seen), missing, "the loss does not depend on")
    return shown_where_bare(Gradients(number, outputs, parameters))


class _Follower:
    """Notes the gradient of what each layer gave, by a hook on the node that made it."""

    def __init__(self, keep_one: Callable[[torch.Tensor], Any]) -> None:
        self._keep = keep_one
        self._seen: dict[str, Any] = {}  # None: no gradient came back yet
        self._views: dict[str, tuple[torch.Tensor, Any]] = {}

    def follow(self, call: str, module: nn.Module, arguments: Any, output: Any) -> None:
        for way, tensor in named_leaves(output):
            where = call + way
            self._seen[where] = None
            if tensor.grad_fn is not None:
                tensor.grad_fn.register_prehook(functools.partial(self._note, where, tensor.output_nr))
                if tensor._is_view():
                    self._views[where] = tensor, tensor.grad_fn

    def _note(self, where: str, index: int, gradients: tuple[torch.Tensor | None, ...]) -> None:
        gradient = gradients[index]
        if gradient is not None:
            self._seen[where] = self._keep(gradient.detach())

    def forward_ended(self) -> None:
        """Writing into a view gives it another history; the node that made it is no part of the graph then."""
        for where, (tensor, node) in self._views.items():
            if tensor.grad_fn is not node:
                self._seen[f"{where} (a view, written over in place)"] = self._seen.pop(where)
        self._views = {}

    def readings(self, silent: list[str], absent: tuple[str, ...]) -> Readings:
        found = {where: value for where, value in self._seen.items() if value is not None}
        missing = [where for where in self._seen if where not in found]
        return Readings(finished(found), [*missing, *silent], "no gradient came back", absent=absent)


def _loss_of(output: Any, loss: Loss | None) -> torch.Tensor:
    value: Any
    if loss is not None:
        value = loss(output)
    else:
        own = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
        value = next(tensors_in(own), None) if own is not None else output
    if not isinstance(value, torch.Tensor) or value.numel() != 1:
        got = list(value.shape) if isinstance(value, torch.Tensor) else type(value).__name__
        raise UsageError(
            f"gradients() needs one number to differentiate, but got {got}. "
            "Give it a loss: gradients(model, x, loss=lambda output: F.cross_entropy(output, y))."
        )
    if not value.requires_grad:
        raise UsageError("the loss depends on nothing that requires a gradient: there are none to look at.")
    return value


# A function of the user's, called with what flows through chosen layers, forward or backward.
PLACES = ("output", "input", "grad")


class Tap:
    """Hooks that are on; `remove()`, or the end of a `with` block, takes them off."""

    def __init__(self, chosen: ChosenLayers, look: Callable[..., Any], on: str) -> None:
        self.paths = tuple(chosen)
        self.absent = chosen.absent  # classes asked for, of which the model has no layer
        self._look = look
        self._nodes: list[RemovableHandle] = []  # hooks on autograd nodes
        self._most_nodes = 1024
        self._hooks = contextlib.ExitStack()
        with contextlib.ExitStack() as stack:
            stack.enter_context(uncompiled())
            stack.callback(self._remove_from_nodes)
            for path, module in chosen.items():
                stack.callback(self._put_on(path, module, on).remove)
            self._hooks = stack.pop_all()

    def remove(self) -> None:
        self._hooks.close()

    def __enter__(self) -> Tap:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def __repr__(self) -> str:
        absent = f", none of class {' or '.join(self.absent)}" if self.absent else ""
        return f"<Tap on {len(self.paths)} layers{absent}>"

    def _put_on(self, path: str, module: nn.Module, on: str) -> RemovableHandle:
        # A checkpointed block that runs again in the backward was seen the first time.
        def before(module: nn.Module, arguments: Any, keywords: Any) -> None:
            if not in_backward():
                self._look(path, module, (*arguments, keywords) if keywords else arguments)

        def after(module: nn.Module, arguments: Any, keywords: Any, output: Any) -> None:
            if not in_backward():
                self._look(path, module, (*arguments, keywords) if keywords else arguments, output)

        def follow(module: nn.Module, arguments: Any, output: Any) -> None:
            for way, tensor in named_leaves(output):
                if tensor.requires_grad:
                    self._listen(path + way, module, tensor)

        if on == "input":
            return module.register_forward_pre_hook(before, with_kwargs=True)
        if on == "output":
            return module.register_forward_hook(after, with_kwargs=True)
        return module.register_forward_hook(follow)

    def _listen(self, where: str, module: nn.Module, tensor: torch.Tensor) -> None:
        node, index = tensor.grad_fn, tensor.output_nr

        def on_node(gradients: tuple[torch.Tensor | None, ...]) -> None:
            if gradients[index] is not None:
                self._look(where, module, gradients[index])

        def on_leaf(gradient: torch.Tensor) -> None:
            self._look(where, module, gradient)

        leaf: Any = tensor
        self._nodes.append(leaf.register_hook(on_leaf) if node is None else node.register_prehook(on_node))
        if len(self._nodes) > self._most_nodes:
            # Of graphs that are gone.
            self._nodes = [handle for handle in self._nodes if handle.hooks_dict_ref() is not None]
            self._most_nodes = 2 * len(self._nodes) + 1024

    def _remove_from_nodes(self) -> None:
        for handle in self._nodes:
            handle.remove()
        self._nodes = []


def tap(model: nn.Module, layers: Layers, look: Callable[..., Any], *, on: str = "output") -> Tap:
    """Calls `look` with what flows through the layers, until the tap is removed.

        with tap(model, "encoder.*", lambda path, module, input, output: print(path, describe(output))):
            model(images)

        handle = tap(model, "encoder.*", lambda path, module, grad: norms.append(grad.norm()), on="grad")
        ...
        handle.remove()

    With `on="input"` it is called as look(path, module, input), before the layer runs. `input` is the
    tuple of what the layer was given; if that was by keywords too, their dictionary comes last. With
    `on="grad"` it is called as look(path, module, grad) with the gradient of each output. What it
    returns is ignored; what it raises is yours. Compiled models run uncompiled while they are tapped.
    """
    if on not in PLACES:
        raise UsageError(f"on={on!r} is unknown: it is {', '.join(map(repr, PLACES))}.")
    if not callable(look):
        raise UsageError(f"tap() takes a function to call, but got {type(look).__name__}.")
    return Tap(chosen_layers(inner_model(model), layers), look, on)


# `describe(tensor)`: one line that says what a tensor is and what it holds.
_KINDS = (torch.Tensor, numpy.ndarray, numpy.generic)


def describe(value: Any) -> TensorStats | Readings:
    """What a tensor is and what it holds, in one line; of a batch, one line for each tensor in it.

        >>> describe(torch.linspace(-1, 1, 5))
        float32 [5] cpu  min -1  max 1  mean 0  std 0.7071  zeros 20 %  |█ █  █ █ █|

    NaN and Inf are counted and left out of the other numbers. The result has them as attributes:
    `describe(x).std`. Takes tensors of every kind, numpy arrays, and dictionaries, lists, tuples and
    dataclasses of them.
    """
    if isinstance(value, _KINDS):
        return shown_where_bare(_of_one(value))
    found = {_plain(way): _of_one(leaf) for way, leaf in named_leaves(value, _KINDS)}
    if not found:
        name = type(value).__name__
        got = f"a {name} that holds none" if isinstance(value, (dict, list, tuple)) else name
        raise UsageError(f"describe() takes a tensor, an array, or several in a dict or list, not {got}.")
    return shown_where_bare(Readings(found, root=""))


def _plain(way: str) -> str:
    """ "['image']" is `image` to its owner."""
    inner = way[2:-2]
    return inner if way == f"['{inner}']" and "'" not in inner else way


def _of_one(value: Any) -> TensorStats:
    if isinstance(value, torch.Tensor):
        return take_stats(value)
    value = numpy.asarray(value)
    head = TensorStats(value.shape, str(value.dtype), "numpy")
    if value.dtype.kind not in "biufc":
        return dataclasses.replace(head, remarks=("no numbers",))
    # In the byte order and the precision that torch has.
    if value.dtype.kind == "f" and value.dtype.itemsize > 8:
        numbers = value.astype(numpy.float64)
    else:
        numbers = numpy.ascontiguousarray(value, dtype=value.dtype.newbyteorder("=")).reshape(value.shape)
    return dataclasses.replace(take_stats(torch.tensor(numbers)), dtype=str(value.dtype), device="numpy")


# What was seen at many places of a model: a dictionary that prints as a table.
KEPT = ("stats", "tensors")
_NAMED = 8  # of the places where nothing was seen


class Readings(dict[str, Any]):
    """Where -> TensorStats, or the tensor itself with keep="tensors"; in the order of the forward.

    The second call of a module has `#2` behind its path; tensors inside an output have their way:
    `lstm[0]`, `lstm[1][0]`, `head['logits']`. The model itself has the path "".
    """

    def __init__(
        self,
        found: dict[str, Any],
        missing: Iterable[str] = (),
        why: str = "",
        root: str = "(model)",
        absent: Iterable[str] = (),
    ) -> None:
        super().__init__(found)
        self.absent = tuple(absent)  # classes asked for, of which the model has no layer
        self.missing = tuple(missing)  # asked for, but there was nothing to see
        self._why = why
        self._root = root  # shown for the path ""

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Numbers only: {where: {"mean": ..., ...}}."""
        return {where: dict(vars(stats)) for where, stats in self._stats().items()}

    def _stats(self) -> dict[str, TensorStats]:
        return {where: value if isinstance(value, TensorStats) else take_stats(value) for where, value in self.items()}

    def __str__(self) -> str:
        lines = {self._shown(where): str(stats) for where, stats in self._stats().items()}
        width = max(map(len, lines), default=0)
        table = [f"{where:{width}}  {line}" for where, line in lines.items()]
        if self.missing:
            named = ", ".join(f"`{self._shown(path)}`" for path in self.missing[:_NAMED])
            more = f" and {len(self.missing) - _NAMED} more" if len(self.missing) > _NAMED else ""
            table.append(f"{self._why}: {named}{more}")
        if self.absent:
            table.append(f"no layer of class {' or '.join(self.absent)} in this model")
        return "\n".join(table) or "no tensors"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def _shown(self, where: str) -> str:
        return where if where and where[0] not in "[#" else f"{self._root}{where}"


def keeper(keep: str) -> Callable[[torch.Tensor], Any]:
    """What is made of a tensor the moment it is seen; a later op may write over it."""
    if keep not in KEPT:
        raise UsageError(f"keep={keep!r} is unknown: it is {' or '.join(map(repr, KEPT))}.")
    return count if keep == "stats" else lambda tensor: tensor.clone()


def finished(seen: dict[str, Any]) -> dict[str, Any]:
    """What was counted on a device, read in one transfer."""
    counted = {where: value for where, value in seen.items() if isinstance(value, Counted)}
    return seen | dict(zip(counted, read_counted(counted.values()), strict=True))
