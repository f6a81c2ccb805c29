"""Attributes and imported names that torch does not have: the real one, near by, elsewhere or known."""

from __future__ import annotations

import re
from dataclasses import dataclass

from torch_debugger.checks.crashes.explanation import Blame, line_text, place_text, user_frame
from torch_debugger.checks.crashes.user_code import Statement, rewritten, statement_of
from torch_debugger.records import CrashFact, Edit
from torch_debugger.records.crash import NameEvidence

_FORMS = "attribute", "import", "removed", "called"


def explain_absent_name(crash: CrashFact) -> Blame | None:
    """A name of torch's modules, classes and objects."""
    name, frame = crash.evidence.names, user_frame(crash)
    if name is None or frame is None or name.form not in _FORMS or name.kind == "layer":
        return None
    if name.owner.startswith("torch.autograd.function."):  # the ctx of a Function of the user's own
        return None
    statement = statement_of(frame, None)
    known = known_name(name)
    if known is not None:
        return blame_known(name, statement, known)
    if name.form in ("removed", "called"):
        return None
    real = name.near[0] if name.near else ""
    if not real and not name.elsewhere:
        # Torch's own module or object really lacks it, and nothing resembles it: that much is certain.
        if name.kind == "object" and not name.owner.startswith(("torch.", "torch_debugger.")):
            return None
        return Blame(
            message=f"{_told(name)}, nor anything of a similar name.",
            why="The names were looked up in the torch that runs here: this one is of another version, of another "
            "library, or invented.",
            fix=f"Look up in torch's documentation what {place_text(statement.line)} is meant to do.",
            where=statement.line,
            evidence=_evidence(name, statement),
            confidence=0.85,
        )
    if real:
        others = f" (or {', '.join(f'`{other}`' for other in name.near[1:])})" if name.near[1:] else ""
        advice = f"Write `{real}` instead of `{name.asked}` at {place_text(statement.line)}{others}."
        told, edit = f"it has `{real}`", renamed(statement, name.asked, real)
    else:
        told, advice, edit = _moved(name, statement)
    return Blame(
        message=f"{_told(name)}; {told}.",
        why="The names were looked up in the torch that runs here.",
        fix=advice,
        where=statement.line,
        evidence=_evidence(name, statement),
        confidence=0.95 if len(name.near) < 2 else 0.9,
        edit=edit,
    )


def known_name(name: NameEvidence) -> Known | None:
    """By the owner's name, or that of a class it derives from; of a called module by its own."""
    if name.form == "called" and name.kind == "module":
        return KNOWN.get(name.owner)
    return next((KNOWN[key] for owner in name.lineage if (key := f"{owner}.{name.asked}") in KNOWN), None)


def blame_known(name: NameEvidence, statement: Statement, known: Known) -> Blame:
    offered = bool(known.ours) and known.ours.partition(".")[0] in name.ours
    ours = f" `torch_debugger.{known.ours}` does what was meant." if offered else ""
    return Blame(
        message=f"{_told(name)}.",
        why=f"{known.why}.",
        fix=f"At {place_text(statement.line)} use {known.instead}.{ours}",
        where=statement.line,
        evidence=_evidence(name, statement),
        edit=_known_edit(name, statement, known),
    )


def _known_edit(name: NameEvidence, statement: Statement, known: Known) -> Edit | None:
    if known.rename:
        return renamed(statement, name.asked, known.rename)
    if known.around:
        # iter(loader).next() -> next(iter(loader))
        found = re.findall(rf"([\w.]+(?:\([\w.]*\))?)\.{name.asked}\(\)", statement.whole.code or "")
        return (
            rewritten(statement.whole, f"{found[0]}.{name.asked}()", f"{known.around}({found[0]})")
            if len(found) == 1
            else None
        )
    written = f"{name.owner}.{name.asked}"
    return rewritten(statement.whole, f"{written}(", f"{known.drop_in}(") if known.drop_in else None


def _told(name: NameEvidence) -> str:
    if name.form == "called" and name.kind == "module":
        return f"`{name.owner}` is a module and cannot be called"
    if name.form == "removed":
        return f"`{name.owner}.{name.asked}` is gone"
    if name.form == "import":
        return f"There is no `{name.asked}` in `{name.owner}`"
    private = name.owner.rpartition(".")[2].startswith("_")
    owner = "A tensor" if name.kind == "tensor" else "That object of torch's" if private else f"`{name.owner}`"
    return f"{owner} has no `{name.asked}`"


def _moved(name: NameEvidence, statement: Statement) -> tuple[str, str, Edit | None]:
    full = name.elsewhere[0]
    home = full.rpartition(".")[0]
    told = f"it is in `{home}`" if home != "torch.Tensor" else "tensors have it"
    if home == "torch.Tensor":
        return told, f"Call it on the tensor at {place_text(statement.line)}: `x.{name.asked}(...)`.", None
    if name.form == "import":
        edit = rewritten(statement.whole, f"from {name.owner} import", f"from {home} import")
        return told, f"Write `from {home} import {name.asked}` at {place_text(statement.line)}.", edit
    written = f"{name.owner}.{name.asked}"
    return (
        told,
        f"Write `{full}` instead of `{written}` at {place_text(statement.line)}.",
        rewritten(statement.whole, written, full),
    )


def renamed(statement: Statement, before: str, after: str) -> Edit | None:
    """The one place in the statement where the name stands as a whole word."""
    code = statement.whole.code or ""
    found = re.findall(rf"[\w.]*\b{re.escape(before)}\b(?!\s*=[^=])", code)
    if len(found) != 1 or code.count(found[0]) != 1:
        return None
    kept = found[0][: -len(before)]
    return rewritten(statement.whole, found[0], f"{kept}{after}")


def _evidence(name: NameEvidence, statement: Statement) -> dict[str, float | str]:
    evidence: dict[str, float | str] = {"asked": name.asked, "of": name.owner, "line": line_text(statement.line)}
    if name.near:
        evidence["exist"] = ", ".join(name.near)
    return evidence | {"torch": name.version}


# Keywords that a function of torch's does not take, and things of a tensor that are used the wrong way.
_SHOWN = 8


def explain_absent_keyword(crash: CrashFact) -> Blame | None:
    name, frame = crash.evidence.names, user_frame(crash)
    if name is None or frame is None or name.form != "keyword":
        return None
    statement = statement_of(frame, None)
    owners = (name.owner, *name.lineage)
    known = next((INVENTED_KEYWORDS[owner] for owner in owners if owner in INVENTED_KEYWORDS), None)
    if known is not None:
        told = blame_known(name, statement, known)
        refused = " and ".join(f"`{word}`" for word in name.refused)
        edit = (
            rewritten(statement.whole, f"{name.owner}(", f"{known.drop_in}(")
            if known.drop_in
            else _without(statement, name.refused)
        )
        return Blame(
            message=f"`{name.owner}` takes no {refused}.",
            why=told.why,
            fix=told.fix,
            where=told.where,
            evidence=told.evidence,
            confidence=told.confidence,
            edit=edit,
        )
    # The keyword that was meant: another word for it, else one that is spelled alike.
    synonyms = [word for word in SYNONYMS.get(name.asked, ()) if word in name.keywords]
    real = (synonyms or list(name.near) or [""])[0]
    taken = ", ".join(f"`{word}`" for word in name.keywords[:_SHOWN])
    more = f" and {len(name.keywords) - _SHOWN} more" if len(name.keywords) > _SHOWN else ""
    if real:
        fix = f"Write `{real}=` instead of `{name.asked}=` at {place_text(statement.line)}."
    else:
        fix = f"Take `{name.asked}=` out at {place_text(statement.line)}; what it still takes is {taken}{more}."
    return Blame(
        message=f"`{name.owner}` takes no `{name.asked}`{f'; it takes `{real}`' if real else ''}.",
        why="Its arguments were looked up in the torch that runs here.",
        fix=fix,
        where=statement.line,
        evidence={"asked": name.asked, "taken": taken.replace("`", "") + more, "line": line_text(statement.line)},
        confidence=0.96 if real else 0.92,
        edit=_renaming(statement, name.asked, real) if real else None,
    )


def _without(statement: Statement, refused: tuple[str, ...]) -> Edit | None:
    """The call on its one line, without these keywords."""
    code = statement.whole.code or ""
    changed = code
    for word in refused:
        changed = re.sub(rf",?\s*\b{word}\s*=\s*[\w.]+", "", changed, count=1)
    return rewritten(statement.whole, code, changed.replace("(, ", "(")) if "\n" not in code else None


def _renaming(statement: Statement, before: str, after: str) -> Edit | None:
    found = re.findall(rf"\b{re.escape(before)}\s*=(?!=)", statement.whole.code or "")
    if len(found) != 1:
        return None
    return rewritten(statement.whole, found[0], found[0].replace(before, after))


def explain_missing_device(crash: CrashFact) -> Blame | None:
    """torch.amp.autocast() without the device that its CUDA-only forerunner did not need."""
    name, frame = crash.evidence.names, user_frame(crash)
    if name is None or frame is None or name.form != "missing-argument" or name.asked != "device_type":
        return None
    statement = statement_of(frame, None)
    return Blame(
        message=f"`{name.owner}` was called without the device it is for.",
        why="torch.cuda.amp.autocast() knew its device; torch.amp.autocast is for all, so `device_type` comes first.",
        fix=f'Name the device at {place_text(statement.line)}: `autocast("cuda")`, or `autocast("cpu")` without a GPU.',
        where=statement.line,
        evidence={"asked": name.asked, "line": line_text(statement.line)},
        confidence=0.96,
    )


def explain_wrong_use(crash: CrashFact) -> Blame | None:
    """x.shape() and x.size[0]"""
    name, frame = crash.evidence.names, user_frame(crash)
    if name is None or frame is None or name.kind != "tensor" or name.form not in ("called", "indexed"):
        return None
    statement, asked = statement_of(frame, None), name.asked
    if name.form == "called":
        told, before, after = "is a value and not a method", f".{asked}(", f".{asked}"
        fix = f"Write `.{asked}` without parentheses at {place_text(statement.line)}"
        fix += "; `.size()` is the method." if asked == "shape" else "."
        edit = _uncalled(statement, asked)
    else:
        told, before, after = "is a method and cannot be indexed", f".{asked}[", ".shape["
        real = "`.shape[...]`" if asked == "size" else f"`.{asked}(...)[...]`"
        fix = f"Write {real} at {place_text(statement.line)}."
        edit = rewritten(statement.whole, before, after) if asked == "size" else None
    return Blame(
        message=f"`.{asked}` of a tensor {told}.",
        why="Python calls what stands before `(` and indexes what stands before `[`.",
        fix=fix,
        where=statement.line,
        evidence={"asked": asked, "line": line_text(statement.line)},
        edit=edit,
    )


def explain_indexed_number(crash: CrashFact) -> Blame | None:
    """loss.data[0]"""
    name, frame = crash.evidence.names, user_frame(crash)
    if name is None or frame is None or name.form != "number":
        return None
    statement = statement_of(frame, None)
    return Blame(
        message=f"`{name.owner}` is a single number without dimensions, so there is no `[0]` of it.",
        why="Since PyTorch 0.4 a loss has no dimension; before, it had one of size 1.",
        fix=f"Write `{name.owner}.item()` instead of `{name.asked}` at {place_text(statement.line)}.",
        where=statement.line,
        evidence={"asked": name.asked, "line": line_text(statement.line)},
        edit=rewritten(statement.whole, name.asked, f"{name.owner}.item()"),
    )


def _uncalled(statement: Statement, asked: str) -> Edit | None:
    """Only an empty pair of parentheses; x.shape(0) becomes x.shape[0]."""
    found = re.findall(rf"\.{asked}\(\s*(-?\d*)\s*\)", statement.whole.code or "")
    if len(found) != 1:
        return None
    index = f"[{found[0]}]" if found[0] else ""
    return rewritten(statement.whole, f".{asked}({found[0]})", f".{asked}{index}")


# Names that PyTorch removed or renamed, that other libraries have, or that tutorials invent: what to write.
REMOVED = "PyTorch removed it; the line is written for an older version"
INVENTED = "No release of PyTorch has it"
NUMPY = "It is numpy's name"
KERAS = "It is a name of Keras"


@dataclass(frozen=True, slots=True)
class Known:
    """What to write in place of a name that does not exist."""

    why: str
    instead: str  # the advice, after "Use"
    drop_in: str = ""  # what takes the place of owner and name, with the same arguments: torch.fft.ifft
    rename: str = ""  # what takes the place of the name alone: clone
    around: str = ""  # the function that takes the place of the method: next
    ours: str = ""  # the name of ours that does what was meant


_ARGUMENTS = "its arguments are in the other order"
KNOWN = {
    # the debugging tools that tutorials describe
    "torch.distributed.Watchdog": Known(
        INVENTED,
        "`init_process_group(..., timeout=timedelta(minutes=5))`: a collective that waits longer then fails",
        ours="Watchdog",
    ),
    "torch.cuda.memory.snapshot": Known(
        INVENTED,
        "`torch.cuda.memory_stats()` for totals; `torch.cuda.memory_snapshot()` lists the allocator's segments, and "
        "`torch.cuda.memory._dump_snapshot(\"mem.pickle\")` writes them for pytorch.org/memory_viz",
        ours="memory.snapshot",
    ),
    "torch.cuda.snapshot": Known(
        INVENTED, "`torch.cuda.memory_stats()` for totals, `torch.cuda.memory_snapshot()` for "
                  "segments", ours="memory.snapshot"
    ),
    "torch.cuda.memory_snapshot().stats": Known(
        "The snapshot is a plain list of the allocator's segments",
        "`torch.cuda.memory_stats()`, a dictionary of totals, or `torch.cuda.memory_summary()`, a table to print",
        ours="memory.snapshot",
    ),
    # linear algebra, since 1.9
    "torch.symeig": Known(REMOVED, "`torch.linalg.eigh(A)`, which returns values and vectors"),
    "torch.eig": Known(REMOVED, "`torch.linalg.eig(A)`, which returns complex values and vectors"),
    "torch.lstsq": Known(REMOVED, f"`torch.linalg.lstsq(A, B).solution`; {_ARGUMENTS}"),
    "torch.gels": Known(REMOVED, f"`torch.linalg.lstsq(A, B).solution`; {_ARGUMENTS}"),
    "torch.solve": Known(REMOVED, f"`torch.linalg.solve(A, B)`; {_ARGUMENTS}"),
    "torch.gesv": Known(REMOVED, f"`torch.linalg.solve(A, B)`; {_ARGUMENTS}"),
    "torch.matrix_rank": Known(REMOVED, "`torch.linalg.matrix_rank`", drop_in="torch.linalg.matrix_rank"),
    "torch.qr": Known(REMOVED, "`torch.linalg.qr`", drop_in="torch.linalg.qr"),
    "torch.cholesky": Known(REMOVED, "`torch.linalg.cholesky`", drop_in="torch.linalg.cholesky"),
    "torch.potrf": Known(REMOVED, "`torch.linalg.cholesky`", drop_in="torch.linalg.cholesky"),
    "torch.btrifact": Known(REMOVED, "`torch.linalg.lu_factor`", drop_in="torch.linalg.lu_factor"),
    "torch.norm_except_dim": Known(REMOVED, "`torch.linalg.vector_norm` with `dim`"),
    # Fourier transforms, since 1.8: functions became the module torch.fft, with complex tensors
    "torch.rfft": Known(
        REMOVED, "`torch.fft.rfft(x)` (`rfft2`, `rfftn` for more dimensions); its result is complex, without "
                 "signal_ndim"
    ),
    "torch.irfft": Known(
        REMOVED, "`torch.fft.irfft(x)` (`irfft2`, `irfftn`); it takes a complex tensor, without signal_ndim"
    ),
    "torch.ifft": Known(REMOVED, "`torch.fft.ifft(x)` (`ifft2`, `ifftn`); it takes a complex tensor"),
    "torch.fft": Known(
        "Since PyTorch 1.8 it is a module", "`torch.fft.fft(x)` (`fft2`, `fftn`), on a complex tensor or a real one"
    ),
    # modules that went
    "torch.utils.ffi": Known(REMOVED, "`torch.utils.cpp_extension`: C++ and CUDA extensions took its place"),
    "torch._six": Known(
        REMOVED,
        "Python itself: `str` for `string_classes`, `collections.abc` for `container_abcs`, `math.inf` for `inf`",
    ),
    "torch.utils.trainer": Known(REMOVED, "a loop of your own"),
    "torch.legacy": Known(REMOVED, "`torch.nn`"),
    "torch.nn.backends": Known(REMOVED, "`torch.nn.functional`"),
    "torch.Variable": Known("Since PyTorch 0.4 tensors do that themselves", "the tensor itself, without a wrapper"),
    "torch.no_gradient": Known(INVENTED, "`torch.no_grad`", rename="no_grad"),
    # names of other libraries
    "torch.to_tensor": Known(INVENTED, "`torch.tensor` or `torch.from_numpy`", rename="tensor"),
    "torch.array": Known(NUMPY, "`torch.tensor`", rename="tensor"),
    "torch.asscalar": Known(NUMPY, "`x.item()`"),
    "torch.expand_dims": Known(NUMPY, "`torch.unsqueeze`", rename="unsqueeze"),
    "torch.reduce_mean": Known("It is a name of TensorFlow", "`torch.mean`", rename="mean"),
    "torch.reduce_sum": Known("It is a name of TensorFlow", "`torch.sum`", rename="sum"),
    "torch.set_seed": Known(INVENTED, "`torch.manual_seed`", rename="manual_seed"),
    "torch.random_seed": Known(INVENTED, "`torch.manual_seed`", rename="manual_seed"),
    "torch.float_": Known(NUMPY, "`torch.float64`", rename="float64"),
    "torch.nn.Dense": Known(KERAS, "`nn.Linear(in_features, out_features)`"),
    "torch.nn.Swish": Known("PyTorch has another name for it", "`nn.SiLU`", rename="SiLU"),
    "torch.nn.Reshape": Known(INVENTED, "`nn.Unflatten(dim, sizes)`, or `x.view(...)` in forward"),
    "torch.nn.BatchNorm": Known(INVENTED, "`nn.BatchNorm1d`, `nn.BatchNorm2d` or `nn.BatchNorm3d`"),
    "torch.nn.Conv": Known(INVENTED, "`nn.Conv1d`, `nn.Conv2d` or `nn.Conv3d`"),
    "torch.nn.GlobalAveragePooling2D": Known(KERAS, "`nn.AdaptiveAvgPool2d(1)`"),
    "torch.nn.GlobalAvgPool2d": Known(INVENTED, "`nn.AdaptiveAvgPool2d(1)`"),
    "torch.Tensor.astype": Known(NUMPY, "`x.to(torch.float32)` (or another dtype), or `x.float()`"),
    "torch.Tensor.copy": Known(NUMPY, "`x.clone()`; `x.detach().clone()` outside the graph", rename="clone"),
    "torch.Tensor.append": Known("A tensor has a fixed "
                                 "size", "`torch.cat([x, y])`, or a list and `torch.stack` at the end"),
    "torch.Tensor.get_shape": Known("It is a name of TensorFlow", "`x.shape`"),
    "torch.Tensor.expand_dims": Known(NUMPY, "`x.unsqueeze(dim)`", rename="unsqueeze"),
    "torch.Tensor.assign": Known("It is a name of TensorFlow", "`x.copy_(y)` under `torch.no_grad()`", rename="copy_"),
    "torch.Tensor.zero_grad": Known(
        "Only modules and optimizers have it", "`x.grad = None`, or `x.grad.zero_()` where there is one"
    ),
    "torch.Tensor.zero_gradients": Known(INVENTED, "`x.grad = None`, or `x.grad.zero_()` where there is one"),
    "torch.Tensor.as_numpy": Known(INVENTED, "`x.detach().cpu().numpy()`"),
    "torch.Tensor.to_numpy": Known("It is a name of pandas", "`x.detach().cpu().numpy()`"),
    "torch.Tensor.step": Known("Optimizers make the step", "`optimizer.step()`"),
    # optimizers, modules and loaders
    "torch.optim.Optimizer.backward": Known("The loss has the graph", "`loss.backward()`, then `optimizer.step()`"),
    "torch.optim.Optimizer.minimize": Known(
        "It is a name of TensorFlow", "`optimizer.zero_grad()`, `loss.backward()`, `optimizer.step()`"
    ),
    "torch.optim.Optimizer.apply_gradients": Known(KERAS, "`optimizer.step()`, after `loss.backward()`"),
    "torch.optim.Optimizer.lr": Known(
        "Each parameter group has its own", '`optimizer.param_groups[0]["lr"]`'
    ),
    "torch.optim.Optimizer.get_lr": Known("Each parameter group has its own", '`optimizer.param_groups[0]["lr"]`'),
    "torch.nn.Module.fit": Known(KERAS, "a training loop: forward, loss, `loss.backward()`, `optimizer.step()`"),
    "torch.nn.Module.predict": Known(KERAS, "the call `model(x)`, under `torch.no_grad()` and after `model.eval()`"),
    "torch.nn.Module.summary": Known(KERAS, "`print(model)`"),
    "torch.nn.Module.evaluate": Known(KERAS, "`model.eval()` and a loop over the data under `torch.no_grad()`"),
    "torch.nn.Module.save": Known(KERAS, "`torch.save(model.state_dict(), path)`"),
    "torch.nn.Module.save_weights": Known(KERAS, "`torch.save(model.state_dict(), path)`"),
    "torch.nn.Module.load_weights": Known(KERAS, "`model.load_state_dict(torch.load(path))`"),
    "torch.nn.Module.load": Known(INVENTED, "`model.load_state_dict(torch.load(path))`"),
    "torch.nn.Module.trainable_variables": Known(KERAS, "`model.parameters()`", rename="parameters()"),
    "torch.nn.Module.get_weights": Known(KERAS, "`model.state_dict()`", rename="state_dict"),
    "torch.nn.Module.device": Known(
        "A module may have parameters on several devices", "`next(model.parameters()).device`"
    ),
    "torch.nn.Module.backward": Known("The loss has the graph", "`loss.backward()`"),
    "torch.nn.Module.shape": Known("Only tensors have a shape", "the shape of what it returns: `model(x).shape`"),
    "torch.utils.data.dataloader._BaseDataLoaderIter.next": Known(
        "Since Python 3 iterators have no such method", "`next(iterator)`", around="next"
    ),
}  # fmt: skip

# Keywords that other libraries or older releases use; taken only where the function has the real one.
SYNONYMS = {
    "learning_rate": ("lr",), "alpha": ("lr",), "decay": ("weight_decay",), "l2": ("weight_decay",),
    "beta1": ("betas",), "beta_1": ("betas",), "epsilon": ("eps",),
    "n_workers": ("num_workers",), "workers": ("num_workers",), "batchsize": ("batch_size",),
    "bs": ("batch_size",),
    "transform": ("collate_fn",), "pin": ("pin_memory",),
    "prob": ("p",), "rate": ("p",), "dropout_rate": ("p", "dropout"), "probability": ("p",),
    "axis": ("dim",), "axes": ("dim", "dims"), "keepdims": ("keepdim",), "dimension": ("dim",), "ord": ("p",),
    "kernel": ("kernel_size",), "filter_size": ("kernel_size",), "strides": ("stride",), "pad": ("padding",),
    "filters": ("out_channels",), "in_dim": ("in_features", "in_channels"),
    "out_dim": ("out_features", "out_channels"),
    "input_dim": ("in_features", "num_embeddings", "input_size"),
    "output_dim": ("out_features", "embedding_dim"),
    "input_features": ("in_features",), "output_features": ("out_features",),
    "units": ("out_features", "hidden_size"),
    "n_layers": ("num_layers",), "layers": ("num_layers",), "hidden_dim": ("hidden_size",),
    "use_bias": ("bias",),
    "heads": ("num_heads", "nhead"), "n_heads": ("num_heads", "nhead"), "num_heads": ("nhead",),
    "nhead": ("num_heads",),
    "vocab_size": ("num_embeddings",), "scale": ("scale_factor",), "features": ("num_features",),
    "step": ("step_size",), "factor": ("gamma",), "retain_variables": ("retain_graph",),
    "async": ("non_blocking",),
    "asynchronous": ("non_blocking",), "max_grad_norm": ("max_norm",), "clip_value": ("max_norm", "clip_value"),
    "weights": ("weight",), "average": ("reduction",), "from_logits": (), "size": ("scale_factor",),
}  # fmt: skip

# Calls whose invented keywords have a story of their own.
INVENTED_KEYWORDS = {
    "torch.autograd.detect_anomaly": Known(
        "No release of PyTorch has such options",
        "`torch.autograd.detect_anomaly(check_nan=True)`: it looks for NaN in gradients only, not for Inf",
        ours="detect_anomaly",
    ),
    "torch.cuda.amp.autocast": Known(
        "This form is for CUDA alone and takes no device",
        '`torch.amp.autocast("cuda")`, where the device comes first',
        drop_in="torch.amp.autocast",
    ),
}

# What a bare name that is not defined most likely stands for.
IMPORTS = {
    "torch": "import torch", "nn": "from torch import nn", "F": "import torch.nn.functional as F",
    "optim": "from torch import optim", "np": "import numpy as np", "Tensor": "from torch import Tensor",
    "DataLoader": "from torch.utils.data import DataLoader", "Dataset": "from torch.utils.data import Dataset",
    "TensorDataset": "from torch.utils.data import TensorDataset",
    "random_split": "from torch.utils.data import random_split",
    "SummaryWriter": "from torch.utils.tensorboard import SummaryWriter",
    "autocast": "from torch.amp import autocast", "GradScaler": "from torch.amp import GradScaler",
    "Variable": "from torch.autograd import Variable", "torch_debugger": "import torch_debugger",
    "DDP": "from torch.nn.parallel import DistributedDataParallel as DDP", "dist": "import torch.distributed as dist",
    "lr_scheduler": "from torch.optim import lr_scheduler",
    "pad_sequence": "from torch.nn.utils.rnn import pad_sequence", "plt": "import matplotlib.pyplot as plt",
}  # fmt: skip

# Packages around torch: what to install, or what took their place.
PACKAGES = {
    "torchvision": "`pip install torchvision`, in the version that goes with this torch",
    "torchaudio": "`pip install torchaudio`, in the version that goes with this torch",
    "torchmetrics": "`pip install torchmetrics`",
    "torchinfo": "`pip install torchinfo`",
    "torchsummary": "`pip install torchinfo` and `from torchinfo import summary`: torchsummary is no longer maintained",
    "tensorboard": "`pip install tensorboard`",
    "tensorboardX": "`pip install tensorboardX`, or `from torch.utils.tensorboard import SummaryWriter`",
    "torchtext": "plain Python and `torch.nn.utils.rnn.pad_sequence`: torchtext is no longer developed, and its "
                 "`legacy` part went in version 0.12",
    "pytorch_lightning": "`pip install pytorch-lightning`, or `lightning` under its newer name",
    "lightning": "`pip install lightning`",
    "apex": "`torch.amp.autocast` and `torch.amp.GradScaler`: what apex.amp did is part of torch",
    "fvcore": "`pip install fvcore`",
    "transformers": "`pip install transformers`",
    "safetensors": "`pip install safetensors`",
}  # fmt: skip
