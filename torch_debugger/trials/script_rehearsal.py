"""What a script has ahead of it at its first backward, rehearsed in a fork: the step, the rest of the loop, the
evaluation and whatever follows, with the modules that were moved on a pretended accelerator."""

from __future__ import annotations

import builtins
import dataclasses
import itertools
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _DatasetKind

from torch_debugger.model.forks import ForkedTask, can_be_refused
from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.records import Place, Rehearsal
from torch_debugger.records.codec import to_plain
from torch_debugger.source.frames import user_frame
from torch_debugger.source.variables import VariablesAt
from torch_debugger.trials.cpu_tensors import kept_on_the_cpu, left_behind
from torch_debugger.trials.gpu_rehearsal import RehearsalProcess, prepare_torch, refusal
from torch_debugger.trials.remaining_statements import (
    FEW_TURNS,
    ONE_TURN,
    PASSED_OVER,
    RETURNED,
    is_in_loop,
    lines_ahead,
    shorten_functions,
)
from torch_debugger.trials.step_lines import replaced
from torch_debugger.trials.unmoved_tensors import chosen_device, gives_cpu_batches, moved_weights, tensors_on_the_cpu

_TIME_LIMIT_S = 20.0


class _FoundError(BaseException):
    """A mismatch that is certain; no `except Exception` of the user's may catch it."""

    def __init__(self, record: Rehearsal) -> None:
        super().__init__()
        self.record = record


def start(
    moments: Sequence[VariablesAt], moves: Iterable[tuple[nn.Module, Place]], step: int
) -> RehearsalProcess | None:
    """Fork now, inside the first backward, and return at once. None where no module is put on an accelerator.

    moments: of the user's frames that led there without others between them, the innermost first.
    """
    moved = [(module, device) for module, place in moves if (device := chosen_device(place)) is not None]
    if not moved or not moments or refusal() or not can_be_refused():
        return None
    modules, device = [module for module, _ in moved], moved[0][1]
    draft = Rehearsal("", "cuda", "failed", Place(), None, "", (), (), 0.0, step, of_script=True, device_text=device)

    def task() -> str:
        try:
            record = _rehearsed(moments, modules, draft)
        except _FoundError as found:
            record = found.record
        except BaseException as error:  # the user's own code runs here, and may raise anything
            record = dataclasses.replace(draft, error=f"{type(error).__name__}: {error}"[:500])
        return json.dumps(to_plain(record))

    return RehearsalProcess(ForkedTask(task, _TIME_LIMIT_S), draft)


def _rehearsed(moments: Sequence[VariablesAt], modules: Sequence[nn.Module], draft: Rehearsal) -> Rehearsal:
    from torch_debugger.model.forks import seal
    from torch_debugger.trials.device_mismatch import describe_script_mismatch as describe
    from torch_debugger.trials.pretended_gpu import ScriptPretence, line_of

    stays = {key: line for module in modules for key, line in left_behind(module).items()}
    moved = moved_weights(modules)
    left = tensors_on_the_cpu(moments) | kept_on_the_cpu(moments) | stays
    left = {key: line for key, line in left.items() if key not in moved}
    pretence = ScriptPretence(draft.device, left, moved, lambda error, known: describe(error, known, draft))

    def batch_taken(loader: Any, batch: Any) -> None:
        line = line_of(user_frame())
        if line is not None and gives_cpu_batches(loader, *line):
            for tensor in tensors_in(batch):
                pretence.stays(tensor, line)

    def passed_over(error: Exception) -> None:
        if id(error) in pretence.records:
            raise _FoundError(pretence.records[id(error)])

    def move(module: nn.Module, *arguments: Any, **keywords: Any) -> nn.Module:
        return pretence.move(module, *arguments, **keywords)

    moving: list[tuple[Any, str, Any]] = [(nn.Module, "to", move), (nn.Module, "cuda", move)]
    moving.append((nn.Module, "cpu", lambda module: pretence.leave(module)))
    setattr(builtins, PASSED_OVER, passed_over)
    setattr(builtins, ONE_TURN, lambda items: itertools.islice(items, 1))
    setattr(builtins, FEW_TURNS, pretence.turns.of)
    warnings.simplefilter("ignore")
    prepare_torch()
    seal()
    shorten_functions()
    repeated = next((moment for moment in moments if is_in_loop(moment)), None)
    for moment, inner in zip(moments, ["", *(each.function for each in moments)], strict=False):
        lines = lines_ahead(moment, inner, whole_turn=moment is repeated)
        run = lines.function(0) if lines is not None else None
        if run is not None:
            with torch.no_grad(), without_training(batch_taken), replaced(moving), pretence:
                setattr(builtins, RETURNED, run())
    return dataclasses.replace(draft, outcome="passed")


@contextmanager
def without_training(batch_taken: Callable[[DataLoader[Any], Any], None]) -> Iterator[None]:
    """No backward and no update; of every loader one batch, which is handed to `batch_taken` first."""

    def batches(loader: DataLoader[Any]) -> Iterator[Any]:
        batch = first_batch(loader)
        batch_taken(loader, batch)
        return iter((batch,))

    def stay(*arguments: Any, **keywords: Any) -> None:
        """Not made here."""

    def gradients(outputs: Any, inputs: Any, *others: Any, **how: Any) -> tuple[torch.Tensor, ...]:
        return tuple(map(torch.zeros_like, inputs if isinstance(inputs, (tuple, list)) else (inputs,)))

    def step(optimizer: Optimizer, closure: Callable[[], Any] | None = None) -> Any:
        return closure() if closure is not None else None

    entries: list[tuple[Any, str, Any]] = [
        (torch.autograd, "backward", stay),
        (torch.autograd, "grad", gradients),
        (torch.amp.GradScaler, "scale", lambda scaler, outputs: outputs),
        (DataLoader, "__iter__", batches),
    ]
    entries += [(torch.amp.GradScaler, name, stay) for name in ("step", "update", "unscale_")]
    entries += [(owner, "zero_grad", stay) for owner in (Optimizer, nn.Module)]
    entries += [(kind, "step", step) for kind in _below(Optimizer) if "step" in vars(kind)]
    with replaced(entries):
        yield


def _below(kind: type[Any]) -> Iterator[type[Any]]:
    each: type[Any]
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


def first_batch(loader: DataLoader[Any]) -> Any:
    """By torch's own fetcher, in this process: no iterator of the loader's is made, and no worker."""
    with torch._C.DisableTorchFunction(), torch.utils._python_dispatch._disable_current_modes():
        fetcher = _DatasetKind.create_fetcher(  # type: ignore[no-untyped-call]
            loader._dataset_kind, loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last
        )
        return fetcher.fetch(next(iter(loader._index_sampler)))
