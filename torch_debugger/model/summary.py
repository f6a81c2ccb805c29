"""`summary(model, input_size)`: a model as a table."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from torch_debugger.model.inputs import Attempt, Call, attempts_for_data, attempts_for_sizes, read_sizes
from torch_debugger.model.layers import clean_path, inner_model
from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.model.parameter_counts import ModuleParts
from torch_debugger.model.summary_rows import CallNode, Row, RowMaker, nodes
from torch_debugger.model.summary_runs import Chooser, Ran, Runner, cannot_run, device_of, does_not_fit, likeliest
from torch_debugger.model.summary_table import Summary, TableStyle, chosen_columns, read_settings
from torch_debugger.system.errors import UsageError

_MODES = {None: False, "eval": False, "train": True, "same": None}


def summary(
    model: nn.Module,
    input_size: Any = None,
    input_data: Any = None,
    batch_dim: int | None = None,
    cache_forward_pass: bool | None = None,
    col_names: Iterable[str] | None = None,
    col_width: int = 25,
    depth: int = 3,
    device: torch.device | str | None = None,
    dtypes: Sequence[torch.dtype] | None = None,
    mode: str | None = None,
    row_settings: Iterable[str] | None = None,
    verbose: int | None = None,
    **kwargs: Any,
) -> Summary:
    """A model as a table: what each layer takes and gives, how many parameters it has and what it costs.

        summary(model, input_size=(32, 3, 224, 224))       # as torchinfo is called
        summary(model, (3, 224, 224))                      # as torchsummary is: without the batch
        summary(model, input_data={"input_ids": ids})      # keywords of forward; a tuple: its arguments
        summary(model, input_ids=ids)                      # the same: other keywords go to forward
        summary(model)                                     # parameters only, nothing is run
        result = summary(model, (1, 3, 224, 224), verbose=0)
        result.total_params, result.macs, result.rows[3].output_size, result.to_dict()

    Printed, except at a prompt or in a notebook, where the result shows itself (`verbose` 0: never, 2: each
    parameter too). Every row shows what no other row shows, so that each column sums up to its total.

    `col_names`: kernel_size, input_size, output_size, num_params, params_percent, trainable, mult_adds,
    flops, activations (bytes of what the modules give), dtype, device, time. `mode` is eval, train or same.
    All other keywords go to forward. `cache_forward_pass` is accepted and not needed.

    The model runs where it is, without gradients, and is left as it was. All but small models run on shapes
    alone, which takes no memory and little time; so does a model built on torch's meta device, and any with
    device="meta". For the column time, and where forward needs values, it runs for real; `.ran` says which.
    """
    inner = inner_model(model)
    input_data, batch_dim, device, batch_size = _as_torchsummary(inner, input_data, batch_dim, device, kwargs)
    if isinstance(input_size, torch.Tensor):
        input_size, input_data = None, input_size
    has_input = input_size is not None or input_data is not None or bool(kwargs)
    columns = chosen_columns(col_names, has_input)
    if col_width < 1:
        raise UsageError(f"col_width={col_width} is no width: it is a number of characters.")
    look = TableStyle(columns, depth, col_width, read_settings(row_settings), verbose == 2)
    attempts = _attempts(inner, input_size, input_data, batch_dim, batch_size, dtypes, kwargs)
    chooser = Chooser(
        Runner(inner, _training(mode)),
        attempts,
        timed=any(column.name == "time" for column in columns),
        only_shapes=device is not None and torch.device(device).type == "meta",
    )
    result = _summarized(chooser, look, _device_remark(inner, device), made_up=input_size is not None)
    if _says(verbose):
        result.show()
    return result


def _summarized(chooser: Chooser, look: TableStyle, remark: str, made_up: bool) -> Summary:
    chosen, notes = _run(chooser, made_up)
    if chosen is None:
        look = replace(look, columns=tuple(column for column in look.columns if not column.needs_run))
    model = chooser.runner.model
    parts = ModuleParts(model)
    tree = _whole_tree(chosen.root if chosen else None, parts)
    rows = RowMaker(parts).rows(tree)
    notes += [remark, *chooser.notes, *_remarks(model, parts, rows, ran=chosen is not None)]
    ran = "" if chosen is None else "on shapes" if chosen.on_shapes else "for real"
    return Summary(rows, rows[0].inputs, ran, tuple(note for note in notes if note), look)


def _run(chooser: Chooser, made_up: bool) -> tuple[Ran | None, list[str]]:
    """Nothing where there is no input, or no way to run; with what to say about it."""
    if not chooser.attempts:
        return None, []
    if isinstance(chooser.runner.model, torch.jit.ScriptModule):
        return None, ["The model is scripted or traced: its layers cannot be listened to, so it was not run."]
    chosen = chooser.choose()
    if chosen is not None:
        notes = [chosen.attempt.note]
        if chosen.uncounted:
            calls = [f"{each.op} ({each.calls} call{'s' * (each.calls != 1)})" for each in chosen.uncounted]
            notes.append(f"MACs are without what could not be counted: {_some(calls)}.")
        return chosen, notes
    failure = likeliest(chooser.runner.failures)
    if failure.wants_values:
        return None, [cannot_run(failure)]
    if made_up:
        raise does_not_fit(failure) from failure.error
    raise failure.error


def _attempts(
    model: nn.Module,
    input_size: Any,
    input_data: Any,
    batch_dim: int | None,
    batch_size: int | None,
    dtypes: Sequence[torch.dtype] | None,
    keywords: dict[str, Any],
) -> list[Attempt]:
    if input_size is not None and input_data is not None:
        raise UsageError("summary takes input_size or input_data, not both.")
    _check_devices(model, (input_data, keywords))
    if input_data is not None:
        return attempts_for_data(model, input_data, keywords)
    if input_size is None:
        return [Attempt(Call((), keywords))] if keywords else []
    kinds = [dtypes] if isinstance(dtypes, torch.dtype) else dtypes
    return attempts_for_sizes(model, read_sizes(input_size), kinds, batch_dim, batch_size, keywords)


def _as_torchsummary(
    model: nn.Module, input_data: Any, batch_dim: Any, device: Any, keywords: dict[str, Any]
) -> tuple[Any, int | None, Any, int | None]:
    """Its third and fourth arguments are the batch size and the device."""
    batch_size = None
    if type(input_data) is int:
        input_data, batch_size = None, input_data
    if isinstance(batch_dim, (str, torch.device)):
        batch_dim, device = None, batch_dim
    if "batch_size" in keywords and "batch_size" not in inspect.signature(model.forward).parameters:
        batch_size = keywords.pop("batch_size")
    return input_data, batch_dim, device, batch_size


def _check_devices(model: nn.Module, inputs: Any) -> None:
    own = device_of(model)
    for tensor in tensors_in(inputs):
        if own is not None and own.type != "meta" and tensor.device != own:
            raise UsageError(f"the model is on {own}, but an input is on {tensor.device}: move one of them.")


def _training(mode: str | None) -> bool | None:
    if mode not in _MODES:
        raise UsageError(f"mode={mode!r} is unknown: it is 'eval', 'train' or 'same'.")
    return _MODES[mode]


def _device_remark(model: nn.Module, device: torch.device | str | None) -> str:
    own = device_of(model)
    if device is None or own is None or torch.device(device).type in ("meta", own.type):
        return ""
    absent = torch.device(device).type == "cuda" and not torch.cuda.is_available()
    why = "there is no CUDA device on this machine" if absent else "a summary moves nothing"
    return f"The model is on {own.type} and was summarised there, not on {device}: {why}."


def _says(verbose: int | None) -> bool:
    if verbose not in (None, 0, 1, 2):
        raise UsageError(f"verbose={verbose!r} is unknown: 0 prints nothing, 1 the table, 2 each parameter too.")
    return not hasattr(sys, "ps1") if verbose is None else verbose > 0


# What a reader of a summary should know beside its numbers.
_NAMED = 4


def _remarks(model: nn.Module, parts: ModuleParts, rows: Sequence[Row], ran: bool) -> Iterator[str]:
    owners: dict[int, list[str]] = {}
    lazy = []
    for path in parts.modules:
        for parameter in parts.held(path):
            owners.setdefault(parameter.key, []).append(f"{path}.{parameter.name}".lstrip("."))
            if parameter.lazy:
                lazy.append(f"`{path}.{parameter.name}`")
    tied = [" and ".join(f"`{name}`" for name in names) for names in owners.values() if len(names) > 1]
    if tied:
        yield f"Tied parameters, counted once: {_some([f'{names} are one' for names in tied])}."
    if shared := _shared(model):
        yield f"Modules under several names, counted once: {_some(shared)}."
    # The outermost ones with parameters: a dropout that another function stands for is no news.
    idle = [row.path for row in rows if row.idle and row.params]
    outermost = [f"`{path}`" for path in idle if not any(path.startswith(f"{above}.") for above in idle)]
    if outermost:
        yield f"Not called for this input: {_some(outermost)}."
    scripted = [f"`{path}`" for path, module in parts.modules.items() if isinstance(module, torch.jit.ScriptModule)]
    if ran and scripted:
        yield f"Scripted, and not listened to: {_some(scripted)}."
    if lazy:
        yield f"No size yet, and not counted: {_some(lazy)}. Give input_size, and it is known."


def _shared(model: nn.Module) -> list[str]:
    """Every name of every module that has another; what is inside a shared one only once."""
    first: dict[int, str] = {}
    again: list[str] = []
    known: set[int] = {id(model)}
    waiting: list[tuple[str, nn.Module]] = [("", model)]
    while waiting:
        path, module = waiting.pop(0)
        for name, child in module._modules.items():
            if child is None:
                continue
            below = f"{path}.{name}".lstrip(".")
            if first.setdefault(id(child), clean_path(below)) != clean_path(below):
                again.append(f"`{clean_path(below)}` is `{first[id(child)]}`")
            if id(child) not in known:
                known.add(id(child))
                waiting.append((below, child))
    return again


def _some(items: list[str]) -> str:
    more = len(items) - _NAMED
    return ", ".join(items[:_NAMED]) + (f" and {more} more" if more > 0 else "")


# The tree of calls made whole: equal calls in a row drawn together, modules that were not called added.
_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)


def _whole_tree(root: CallNode | None, parts: ModuleParts) -> CallNode:
    """Without a run: the modules as they are registered."""
    if root is None:
        root = CallNode("", parts.modules[""], called=False)
    else:
        _draw_together(root)
        called = {node.path: node for node in nodes(root)}
        # torch's own layers use the weights of modules that they do not call (MultiheadAttention its out_proj).
        for path in list(parts.modules):
            above = called.get(parts.parent(path))
            if path in called or path not in parts.modules or above is None or not above.called:
                continue
            kind = type(above.module)
            if kind.__module__.startswith("torch.") and kind not in _CONTAINERS:
                parts.absorb(path)
    first: dict[str, CallNode] = {}
    for node in nodes(root):
        first.setdefault(node.path, node)
    for path, module in parts.modules.items():
        if path not in first:  # not called: below the first row of the module that holds it
            first[path] = CallNode(path, module, called=False)
            first[parts.parent(path)].children.append(first[path])
    return root


def _draw_together(node: CallNode) -> None:
    """One layer called five times one after the other, with the same sizes, is one node of five calls."""
    kept: list[CallNode] = []
    for child in node.children:
        _draw_together(child)
        if kept and child.called and _form(kept[-1]) == _form(child):
            _merge(kept[-1], child)
        else:
            kept.append(child)
    node.children = kept


def _form(node: CallNode) -> tuple[Any, ...]:
    return node.path, node.inputs, node.outputs, *(_form(child) for child in node.children)


def _merge(kept: CallNode, more: CallNode) -> None:
    kept.calls += more.calls
    kept.output_bytes += more.output_bytes
    kept.spent = {name: value + more.spent[name] for name, value in kept.spent.items()}
    for child, other in zip(kept.children, more.children, strict=True):
        _merge(child, other)
