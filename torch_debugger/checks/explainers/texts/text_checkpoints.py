"""Pasted tracebacks out of load_state_dict and torch.load."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import Blame, shape_text
from torch_debugger.checks.explainers.texts.text_reading import Reading, read
from torch_debugger.checks.explainers.texts.text_rules import TextRule, explain_by
from torch_debugger.records import CrashFact

_MODULE = r"/torch/nn/modules/module\.py$"
_LOADING = r"^Error\(s\) in loading state_dict for (\w+):"
_PREFIXES = ("module.", "_orig_mod.", "model.")
_FILE = "what else the file holds"


def explain_text_keys(crash: CrashFact) -> Blame | None:
    told = read(crash, _LOADING, through=_MODULE)
    missing, unexpected = _names(crash.message, "Missing"), _names(crash.message, "Unexpected")
    if told is None or "size mismatch for" in crash.message or not (missing or unexpected):
        return None
    for prefix in _PREFIXES:
        if missing and unexpected and {f"{prefix}{name}" for name in missing} >= set(unexpected):
            return _prefixed(told, prefix)
    counted = (
        f"{len(missing)} of its parameters are missing and {len(unexpected)} of the file's are not its own"
    )
    return told.blame(
        f"{told.at} loads a checkpoint that does not fit `{told.match[1]}`: {counted}.",
        "Parameters are found by name. The names of the file and of the model differ.",
        "Build the model as it was when it was saved, or rename the keys; `strict=False` loads what fits, "
        "and only that.",
        _FILE,
        missing=", ".join(missing[:4]),
        unexpected=", ".join(unexpected[:4]),
    )


def _prefixed(told: Reading, prefix: str) -> Blame:
    return told.blame(
        f"{told.at} loads a checkpoint whose names start with `{prefix}`; those of `{told.match[1]}` do not.",
        "It was saved from a wrapper (DataParallel, DDP, torch.compile) around the model.",
        f"Take the prefix off: `{{name.removeprefix('{prefix}'): value for name, value in state.items()}}`.",
        _FILE,
    )


def explain_text_sizes(crash: CrashFact) -> Blame | None:
    told = read(crash, _LOADING, through=_MODULE)
    sizes = re.findall(
        r"size mismatch for ([\w.]+): copying a param with shape torch\.Size\(\[([\d, ]*)\]\) from checkpoint, "
        r"the shape in current model is torch\.Size\(\[([\d, ]*)\]\)",
        crash.message,
    )
    if told is None or not sizes:
        return None
    name, saved, built = sizes[0]
    others = f", and {len(sizes) - 1} more differ" if len(sizes) > 1 else ""
    return told.blame(
        f"{told.at} loads a checkpoint in which `{name}` has the shape [{saved}]; the model was built with "
        f"[{built}]{others}.",
        "Parameters are copied, so their shapes must be equal.",
        "Build the model with the sizes it was saved with, or leave those parameters out of the state.",
        "the line that builds that layer",
        saved=shape_text([int(size) for size in re.findall(r"\d+", saved)]),
        built=shape_text([int(size) for size in re.findall(r"\d+", built)]),
    )


def _names(message: str, kind: str) -> list[str]:
    found = re.search(rf"{kind} key\(s\) in state_dict: (.*)", message)
    return re.findall(r'"([^"]+)"', found[1]) if found else []


explain_text_cuda_file = explain_by(
    TextRule(
        message=r"Attempting to deserialize object on a CUDA device but torch\.cuda\.is_available\(\) is False",
        through=r"/torch/serialization\.py$",
        told="{at} loads tensors that were saved on a GPU, and here is none.",
        why="Tensors go back to the device they were saved from.",
        fix="Load them with `torch.load(path, map_location='cpu')`.",
        unknown=_FILE,
    )
)
explain_text_refused = explain_by(
    TextRule(
        message=r"Unsupported global: GLOBAL (?P<name>[\w.]+) was not an allowed global",
        through=r"/torch/serialization\.py$",
        told="{at} loads a file that holds a `{name}`, which is more than tensors.",
        why="Since torch 2.6 `torch.load` makes no objects of other classes unless they are allowed: making "
        "them may run code.",
        fix="If you trust the file: `torch.serialization.add_safe_globals([{name}])` before the load. Better: "
        "save state dicts and plain numbers.",
        unknown=_FILE,
    )
)
