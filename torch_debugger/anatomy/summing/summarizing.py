"""`summary(model, input_size)`: a model as a table."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.graph_calls import Call
from torch_debugger.anatomy.layers import inner_model
from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.anatomy.summing.attempts import Attempt, attempts_for_data, attempts_for_sizes, read_sizes
from torch_debugger.anatomy.summing.choosing import Chooser, likeliest
from torch_debugger.anatomy.summing.columns import chosen_columns
from torch_debugger.anatomy.summing.names import read_settings
from torch_debugger.anatomy.summing.parts import Parts
from torch_debugger.anatomy.summing.refusals import cannot_run, does_not_fit
from torch_debugger.anatomy.summing.remarks import remarks, uncounted_remark
from torch_debugger.anatomy.summing.result import Look, Summary
from torch_debugger.anatomy.summing.rows import RowMaker
from torch_debugger.anatomy.summing.runs import Ran, Runner, device_of
from torch_debugger.anatomy.summing.whole_tree import whole_tree
from torch_debugger.errors import UsageError

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
    look = Look(columns, depth, _positive(col_width), read_settings(row_settings), verbose == 2)
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


def _summarized(chooser: Chooser, look: Look, remark: str, made_up: bool) -> Summary:
    chosen, notes = _run(chooser, made_up)
    if chosen is None:
        look = replace(look, columns=tuple(column for column in look.columns if not column.needs_run))
    model = chooser.runner.model
    parts = Parts(model)
    tree = whole_tree(chosen.root if chosen else None, parts)
    rows = RowMaker(parts).rows(tree)
    notes += [remark, *chooser.notes, *remarks(model, parts, rows, ran=chosen is not None)]
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
        return chosen, [chosen.attempt.note, uncounted_remark(chosen.uncounted)]
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


def _positive(col_width: int) -> int:
    if col_width < 1:
        raise UsageError(f"col_width={col_width} is no width: it is a number of characters.")
    return col_width


def _device_remark(model: nn.Module, device: torch.device | str | None) -> str:
    own = device_of(model)
    if device is None or own is None or torch.device(device).type in ("meta", own.type):
        return ""
    absent = torch.device(device).type == "cuda" and not torch.cuda.is_available()
    why = "there is no CUDA device on this machine" if absent else "a summary moves nothing"
    return f"The model is on {own.type} and was summarised there, not on {device}: {why}."


def _says(verbose: int | None) -> bool:
    if verbose not in (None, 0, 1, 2):
        raise UsageError(
            f"verbose={verbose!r} is unknown: 0 prints nothing, 1 the table, 2 each parameter too."
        )
    return not hasattr(sys, "ps1") if verbose is None else verbose > 0
