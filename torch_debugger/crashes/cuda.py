"""What a CUDA device, or what is left of it, tells about an error of its own.

After a failed assertion or a wrong address the context is dead: any call into it raises. Shapes,
the allocator's counts and tensors on the CPU can still be read, and nothing else is.
"""

from __future__ import annotations

import ast
import contextlib
import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from torch_debugger.crashes.frames import LiveCrash, describe, is_tensor, statement_place
from torch_debugger.crashes.indices import Lookup, examine_lookup, layer_in
from torch_debugger.crashes.loading_samples import for_statements
from torch_debugger.crashes.memory import models_of
from torch_debugger.model.autograd_graph import walk_nodes
from torch_debugger.records import Place
from torch_debugger.records.crash import CudaEvidence, DeviceLookup
from torch_debugger.source.files import is_user_file

_KINDS = (
    ("fork", re.compile(r"Cannot re-initialize CUDA in forked subprocess|CUDA error: initialization error")),
    ("assert", re.compile(r"device-side assert triggered")),
    ("address", re.compile(r"an illegal memory access was encountered|misaligned address")),
    ("image", re.compile(r"no kernel image is available")),
    ("library", re.compile(r"CUBLAS_STATUS_\w+|CUDNN_STATUS_\w+|CUSOLVER_STATUS_\w+|CUFFT_\w+")),
    ("launch", re.compile(r"unspecified launch failure|too many resources requested|invalid configuration")),
)
_DEAD = ("assert", "address", "launch")


def examine_cuda(crash: LiveCrash) -> CudaEvidence | None:
    """Errors that the device itself reports, and CUDA in a forked worker."""
    text = str(crash.error)
    kinds = [(kind, match[0]) for kind, form in _KINDS if (match := form.search(text))]
    if not kinds or not isinstance(crash.error, RuntimeError):
        return None
    kind, message = kinds[0]
    if kind == "fork":
        return CudaEvidence(kind, message, worker=worker_line(crash, text))
    free, total, name, capability = 0, 0, "", ""
    with contextlib.suppress(RuntimeError, AssertionError):  # nothing where the context does not answer
        if kind in ("library", "image"):
            free, total = torch.cuda.mem_get_info()
    with contextlib.suppress(RuntimeError, AssertionError):
        if kind == "image":
            major, minor = torch.cuda.get_device_capability()
            name, capability = torch.cuda.get_device_name(), f"sm_{major}{minor}"
    facts = [describe(source.name, source.tensor) for source in index_tensors(crash)]
    return CudaEvidence(
        kind=kind,
        told=message,
        blocking=os.environ.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0"),
        alive=total > 0,
        lookups=lookups_out_of_range(crash) if kind in (*_DEAD, "library") else (),
        seen=tuple([fact for fact in facts if fact is not None][:6]),
        free_bytes=int(free),
        total_bytes=int(total),
        name=name,
        capability=capability,
        architectures=tuple(torch.cuda.get_arch_list()) if kind == "image" else (),
    )


# Indices that a device was given, read on the CPU side, against the tables and scores they choose from.
_INTEGERS = (torch.int64, torch.int32)
_NAMES, _NODES, _LARGEST = 500, 40, 20_000_000
_UNSIGNED = 2**63


@dataclass(frozen=True)
class IndexSource:
    """An integer tensor on the CPU."""

    name: str
    tensor: torch.Tensor
    age: int  # -1 for a variable of the user's


@dataclass(frozen=True)
class Scores:
    """What a loss chose from: so many scores for each of so many labels."""

    classes: int
    labels: int
    ignored: int


def index_tensors(crash: LiveCrash) -> list[IndexSource]:
    """Of the last batches, then of the user's variables."""
    names = loop_names(crash)
    found = [
        IndexSource(names.get(name, name), tensor, age)
        for age, batch in enumerate(crash.running.batches)
        for name, tensor in batch.items()
    ]
    for seen in reversed(crash.frames):
        for name, value in list(seen.locals.items())[:_NAMES] if seen.user else ():
            if is_tensor(value) and value.device.type == "cpu" and value.dtype in _INTEGERS:
                found.append(IndexSource(name, value, -1))
    unique = {id(source.tensor): source for source in reversed(found)}
    return [
        source
        for source in found
        if unique[id(source.tensor)] is source
        and 0 < source.tensor.numel() <= _LARGEST
        and source.tensor.layout is torch.strided
    ]


def loop_names(crash: LiveCrash) -> dict[str, str]:
    """What the user's loop calls the parts of a batch: batch[1] -> y, for `for x, y in loader`."""
    for loop in (loop for seen in crash.user_frames for loop in for_statements(seen)):
        counted = ast.unparse(loop.iter).startswith("enumerate(")  # for i, (x, y) in enumerate(loader)
        target = loop.target.elts[-1] if counted and isinstance(loop.target, ast.Tuple) else loop.target
        if isinstance(target, ast.Tuple):
            return {f"batch[{place}]": ast.unparse(part) for place, part in enumerate(target.elts)}
    return {}


def lookups_out_of_range(crash: LiveCrash) -> tuple[DeviceLookup, ...]:
    """All that are: an embedding's first, then labels; the newest batch first."""
    sources = index_tensors(crash)
    found = [*_in_tables(crash, sources), *_in_scores(crash, sources)]
    # how far beyond its table the highest index reaches: the table it was meant for is the nearest
    excess = {id(lookup): max(0, lookup.found.highest - lookup.found.size) for lookup in found}
    return tuple(sorted(found, key=lambda lookup: (max(lookup.age, 0), excess[id(lookup)])))


def _in_tables(crash: LiveCrash, sources: list[IndexSource]) -> Iterator[DeviceLookup]:
    inputs = [item for call in crash.running.calls.values() for item in tree_leaves(call) if is_tensor(item)]
    shapes = {item.shape for item in inputs if item.dtype in _INTEGERS}
    for name, model in models_of(crash).items():
        for path, layer in model.named_modules(prefix=name):
            if not isinstance(layer, nn.Embedding | nn.EmbeddingBag):
                continue
            for source in sources:
                lookup = Lookup("embedding", source.tensor, layer.num_embeddings, index_name=source.name)
                fits = not shapes or source.tensor.shape in shapes
                evidence = examine_lookup(crash, lookup) if fits else None
                if evidence is not None:
                    yield DeviceLookup(evidence, layer_in(crash, name, model, path, layer), source.age)


def _in_scores(crash: LiveCrash, sources: list[IndexSource]) -> Iterator[DeviceLookup]:
    for scores in _scores(crash):
        linear = [
            (name, model, path, layer)
            for name, model in models_of(crash).items()
            for path, layer in model.named_modules(prefix=name)
            if isinstance(layer, nn.Linear) and layer.out_features == scores.classes
        ]
        layer = layer_in(crash, *linear[0]) if len(linear) == 1 else None
        for source in sources:
            if source.tensor.numel() != scores.labels:
                continue
            lookup = Lookup("cross_entropy", source.tensor, scores.classes, ignored=scores.ignored)
            evidence = examine_lookup(crash, replace(lookup, index_name=source.name))
            if evidence is not None:
                yield DeviceLookup(evidence, layer, source.age)


def _scores(crash: LiveCrash) -> Iterator[Scores]:
    """From the graph of a loss in the user's variables, else from the loss function's own frame."""
    reported: set[Scores] = set()
    for seen in reversed(crash.frames):
        variables = list(seen.locals.items())[:_NAMES]
        graphs = [value.grad_fn for _, value in variables if is_tensor(value) and value.grad_fn is not None]
        found = [_of_graph(node) for node in graphs] if seen.user else [_of_frame(dict(variables))]
        for scores in found:
            if scores is not None and scores not in reported:
                reported.add(scores)
                yield scores


def _of_graph(node: Any) -> Scores | None:
    """NllLoss <- LogSoftmax: the shape of the latter's output, which needs no device to be read."""
    for part in walk_nodes(node, _NODES)[0]:
        below = [other for other, _ in part.next_functions if other is not None]
        if part.name().startswith("NllLoss") and below:
            return _counted(below[0]._input_metadata[0].shape, getattr(part, "_saved_ignore_index", -100))
    return None


def _of_frame(variables: dict[str, Any]) -> Scores | None:
    logits: Any = variables.get("input")
    target: Any = variables.get("target")
    if not is_tensor(logits) or not is_tensor(target) or logits.dim() != target.dim() + 1:
        return None
    return _counted(logits.shape, variables.get("ignore_index", -100))


def _counted(shape: Any, ignored: int) -> Scores:
    """[labels, classes], or [batch, classes, ...]."""
    sizes = [int(size) for size in shape]
    labels = math.prod((*sizes[:1], *sizes[2:]))
    signed = ignored - 2 * _UNSIGNED if ignored >= _UNSIGNED else ignored
    return Scores(sizes[1] if len(sizes) > 1 else sizes[0], labels, signed)


# The user's line in a forked worker that touched CUDA: from the traceback the worker sent.
_LINE = re.compile(r'File "([^"]+)", line (\d+)')


def worker_line(crash: LiveCrash, text: str) -> Place:
    """The innermost line of the user's in the worker; else in this process, which is then the fork."""
    lines = [(file, int(line)) for file, line in _LINE.findall(text) if is_user_file(file)]
    seen = crash.user_frame
    if not lines and seen is not None:
        lines = [(seen.file, seen.line)]
    return statement_place(*lines[-1]) if lines else Place()
