"""A checkpoint against the model it was loaded into, and against what torch.load and torch.save can do."""

from __future__ import annotations

import builtins
import dataclasses
import difflib
import io
import itertools
import os
import pickletools
import re
import shutil
import struct
import sys
import zipfile
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from types import FunctionType, ModuleType
from typing import Any

import torch
from torch import nn

from torch_debugger.crashes.frames import LiveCrash, is_tensor, kind_name, walk_traceback
from torch_debugger.crashes.layers import describe_layer
from torch_debugger.records import LayerFact
from torch_debugger.records.crash_modules import (
    CheckpointEvidence,
    FileFact,
    InnerState,
    ModelLoad,
    OptimizerLoad,
    RefusedGlobal,
    StateEntry,
    StorageLocation,
)
from torch_debugger.source.constructors import constructor_places
from torch_debugger.source.files import is_user_file
from torch_debugger.source.objects import is_a, is_one_of, own_attributes
from torch_debugger.source.variables import name_of, name_root

_SERIALIZATION = "torch/serialization.py"


def examine_checkpoints(crash: LiveCrash) -> CheckpointEvidence | None:
    """The last of torch's doors that the traceback went through: load_state_dict, load or save."""
    # torch/optim/optimizer.py, however the machine writes and where it keeps it
    homes = [(seen.function, seen.file.replace("\\", "/").rpartition("/torch/")[2]) for seen in crash.frames]
    names = {(function, f"torch/{home}") for function, home in homes}
    if ("load_state_dict", "torch/nn/modules/module.py") in names:
        return CheckpointEvidence(model=examine_model_load(crash))
    if ("load_state_dict", "torch/optim/optimizer.py") in names:
        return CheckpointEvidence(optimizer=examine_optimizer_load(crash))
    if ("load", _SERIALIZATION) in names:
        (refused, complete), location = examine_refusals(crash), examine_location(crash)
        file = None if refused or location else examine_file(crash, "load")
        return CheckpointEvidence(refused=refused, refused_all=complete, location=location, file=file)
    if ("save", _SERIALIZATION) in names:
        return CheckpointEvidence(file=examine_file(crash, "save"))
    return None


# State dicts against the module or optimizer whose load_state_dict refused them.
_ENTRIES, _KEYS, _LAYERS = 3000, 40, 8
_WRAPPERS = ("module", "_orig_mod")  # where DataParallel and DDP, and torch.compile, keep the model
_OF_OPTIMIZER = {"state", "param_groups"}


def examine_model_load(crash: LiveCrash) -> ModelLoad | None:
    seen = crash.frame_of("load_state_dict", "module.py")
    variables = seen.locals if seen is not None else {}
    module, state = variables.get("self"), variables.get("state_dict")
    if seen is None or crash.innermost is not seen or not is_a(module, nn.Module):
        return None  # an error of somebody's hook or own _load_from_state_dict
    name = name_root(module, crash.user_frame.frame if crash.user_frame is not None else None)
    load = ModelLoad(name, type(module).__name__, kind_name(type(state)), bool(variables.get("strict", True)))
    if not is_a(state, Mapping):
        return load
    wanted = dict(_wanted(module))
    children = [name for name, _ in module.named_children()]
    return ModelLoad(
        *(load.name, load.kind, load.given, load.strict),
        wrapped=children[0] if len(children) == 1 and children[0] in _WRAPPERS else "",
        wanted=tuple(StateEntry(key, shape) for key, shape in itertools.islice(wanted.items(), _ENTRIES)),
        saved=_entries(state),
        others=tuple(str(key) for key, value in state.items() if not is_tensor(value))[:_KEYS],
        inside=tuple(_inside(state)),
        of_optimizer=set(state) == _OF_OPTIMIZER,
        layers=_differing_layers(crash, module, name, wanted, state),
    )


def _wanted(module: nn.Module) -> Iterator[tuple[str, tuple[int, ...]]]:
    """What its state_dict() would hold, read without calling it: hooks of the user's may hang there."""
    for path, part in module.named_modules(remove_duplicate=False):
        left_out = getattr(part, "_non_persistent_buffers_set", ())
        buffers = {name: value for name, value in part._buffers.items() if name not in left_out}
        for name, value in (*part._parameters.items(), *buffers.items()):
            if is_tensor(value):
                yield f"{path}.{name}".lstrip("."), tuple(value.shape)


def _entries(state: Mapping[Any, Any]) -> tuple[StateEntry, ...]:
    tensors = ((str(key), value) for key, value in state.items() if is_tensor(value))
    return tuple(StateEntry(key, tuple(value.shape)) for key, value in itertools.islice(tensors, _ENTRIES))


def _inside(state: Mapping[Any, Any]) -> Iterator[InnerState]:
    for key, value in itertools.islice(state.items(), _KEYS):
        if type(key) is not str or not is_a(value, Mapping):
            continue
        entries, of_optimizer = _entries(value), set(value) == _OF_OPTIMIZER
        if entries or of_optimizer:
            yield InnerState(key, entries, of_optimizer)


def _differing_layers(
    crash: LiveCrash, module: nn.Module, name: str, wanted: Mapping[str, tuple[int, ...]], state: Mapping[Any, Any]
) -> tuple[LayerFact, ...]:
    """The layers whose tensors have another shape in the file, with the lines that build them."""
    differing = [key for key, shape in wanted.items() if is_tensor(state.get(key)) and tuple(state[key].shape) != shape]
    paths = list(dict.fromkeys(key.rpartition(".")[0] for key in differing))[:_LAYERS]
    seen = crash.user_frame
    if not paths or seen is None:
        return ()
    places, call = constructor_places(module, name, crash.user_files), seen.place
    return tuple(
        describe_layer(module.get_submodule(path), f"{name}.{path}".rstrip("."), places, call) for path in paths
    )


def examine_optimizer_load(crash: LiveCrash) -> OptimizerLoad | None:
    seen = crash.frame_of("load_state_dict", "optimizer.py")
    variables = seen.locals if seen is not None else {}
    optimizer, state = variables.get("self"), variables.get("state_dict")
    if seen is None or crash.innermost is not seen or not is_a(optimizer, torch.optim.Optimizer):
        return None
    user = crash.user_frame
    name = name_of(optimizer, user.frame if user is not None else None) or "optimizer"
    groups = tuple(len(group["params"]) for group in optimizer.param_groups)
    if not is_a(state, Mapping):
        return OptimizerLoad(name, type(optimizer).__name__, kind_name(type(state)), groups=groups)
    inner = [(key, value) for key, value in state.items() if type(key) is str and is_a(value, Mapping)]
    saved = state.get("param_groups")
    return OptimizerLoad(
        *(name, type(optimizer).__name__, kind_name(type(state))),
        keys=tuple(str(key) for key in itertools.islice(state, _KEYS)),
        inside=tuple(key for key, value in inner if set(value) == _OF_OPTIMIZER),
        of_model=bool(state) and all(is_tensor(value) for value in state.values()),
        groups=groups,
        saved_groups=tuple(len(group.get("params", ())) for group in saved) if is_a(saved, list) else (),
    )


# What torch.load refuses: to import a class it does not know, to put a tensor on a device that is not here.
_PICKLE_BYTES, _GLOBALS = 20_000_000, 24
_UNPICKLER = "_weights_only_unpickler.py"


def examine_refusals(crash: LiveCrash) -> tuple[tuple[RefusedGlobal, ...], bool]:
    """The class that was refused, then the others in the file that would be; and whether these are all."""
    seen = crash.frame_of("load", "serialization.py")
    first = _refused_first(crash.error)
    if seen is None or not first:
        return (), False
    path = path_of_file(seen.locals.get("f"))
    others = _refused_in(path) if path is not None and os.path.isfile(path) else []
    names = list(dict.fromkeys([first, *others]))[:_GLOBALS]
    reach = crash.user_frame.names if crash.user_frame is not None else {}
    return tuple(_describe(name, reach) for name in names), bool(others)


def _refused_first(error: BaseException) -> str:
    """From the unpickler's own frame: torch.load raises its advice while that error is handled."""
    inner = error.__context__ or error
    for seen in reversed(walk_traceback(inner.__traceback__)):
        variables = seen.locals
        if seen.file.endswith(_UNPICKLER) and type(variables.get("full_path")) is str:
            text = str(inner)
            if "GLOBAL" in text:
                return f"{variables['module']}.{variables['name']}"
            # a class that appears only while building, as the dtype classes of numpy do
            found = re.search(r"but got <class '([\w.]+)'>", text)
            return found[1] if found else ""
    return ""


def _refused_in(path: str) -> list[str]:
    """All that weights_only would refuse, read from the pickle's opcodes; nothing of it is run."""
    listing = getattr(torch.serialization, "get_unsafe_globals_in_checkpoint", None)
    code = _pickle_code(path) if listing is not None else None
    return [*sorted(listing(path)), *_numpy_dtypes(code)] if listing is not None and code is not None else []


def _pickle_code(path: str) -> bytes | None:
    if not zipfile.is_zipfile(path):
        return None
    with zipfile.ZipFile(path) as archive:
        found = [entry for entry in archive.infolist() if entry.filename.endswith("/data.pkl")]
        return archive.read(found[0]) if found and found[0].file_size <= _PICKLE_BYTES else None


def _numpy_dtypes(code: bytes) -> Iterator[str]:
    """numpy.dtypes.Float64DType, for the `f8` that follows the name numpy.dtype in the pickle."""
    if b"numpy" not in code:
        return
    import numpy  # only where the file names it

    for _, written, _ in pickletools.genops(code):
        if type(written) is str and re.fullmatch(r"[biufc]\d{1,2}", written):
            kind = type(numpy.dtype(written))
            yield f"numpy.dtypes.{kind.__name__}"


def _describe(name: str, reach: Mapping[str, Any]) -> RefusedGlobal:
    home, _, last = name.rpartition(".")
    module = sys.modules.get(home)
    value = vars(module).get(last) if is_a(module, ModuleType) else None
    if value is None and home == "__main__":
        value = reach.get(last)
    file = getattr(module, "__file__", None)
    return RefusedGlobal(
        name=name,
        user_class=home == "__main__" or (is_a(file, str) and is_user_file(file) and value is not None),
        function=is_a(value, FunctionType),
        module_class=is_a(value, type) and issubclass(value, nn.Module),
        written=_written(value, name, reach) if value is not None else "",
    )


def _written(value: Any, name: str, reach: Mapping[str, Any]) -> str:
    """Config, nn.Linear, np.dtype: by a name of the user's, else by a module that they imported."""
    first, *rest = name.split(".")
    last = name.rpartition(".")[2]
    if reach.get(last, vars(builtins).get(last)) is value:
        return last
    modules = [(alias, module) for alias, module in reach.items() if is_a(module, ModuleType)]
    for alias, module in sorted(modules, key=lambda pair: -len(pair[1].__name__)):
        if vars(module).get(last) is value:
            return f"{alias}.{last}"
    return next((".".join([alias, *rest]) for alias, module in modules if module.__name__ == first), "")


def examine_location(crash: LiveCrash) -> StorageLocation | None:
    """The device that a stored tensor was to be put on, from the frame that tried."""
    seen, load = crash.frame_of("default_restore_location"), crash.frame_of("load", "serialization.py")
    innermost = crash.innermost
    if seen is None or load is None or innermost is None or innermost.user:
        return None
    location, requested = str(seen.locals.get("location")), load.locals.get("map_location")
    device = str(requested) if is_a(requested, (str, torch.device)) else ""
    # How many devices of the kind there are; the crash came from asking the same, so nothing new is woken.
    kind = location.partition(":")[0]
    backend = getattr(torch, kind, None)
    is_there = kind == "cpu" or getattr(backend, "is_available", bool)()
    count = 1 if kind == "cpu" or not is_there else int(getattr(backend, "device_count", lambda: 1)())
    return StorageLocation(
        location=location,
        available=count if is_there else 0,
        asked=device or ("a function or mapping" if requested is not None else ""),
        asked_itself=bool(device) and location == device,
    )


# The file that torch.load or torch.save could not read or write.
_SUFFIXES = (".pt", ".pth", ".ckpt", ".bin", ".tar", ".pkl", ".safetensors", ".th")
_FILES, _NEAR, _DEPTH = 2000, 3, 6
_TEXTS = ("html", "lfs-pointer", "json", "text")


def examine_file(crash: LiveCrash, function: str) -> FileFact | None:
    """Of torch.load or torch.save, where torch itself and not an object of the user's raised."""
    seen = crash.frame_of(function, "serialization.py")
    if seen is None or crash.innermost is None or crash.innermost.user:
        return None
    file = seen.locals.get("f")
    path = path_of_file(file)
    if path is None and is_a(file, io.BytesIO):
        with file.getbuffer() as content:
            head, tail, size = bytes(content[:_HEAD]), bytes(content[-_TAIL:]), len(content)
        return FileFact("", size_bytes=size, form=form_of(head, tail, size), buffer=True)
    if path is None or function == "load":
        return _to_read(path) if path is not None else None
    fact = _to_write(path, seen.locals.get("obj"))
    names = crash.user_frame.names if crash.user_frame is not None else {}
    return dataclasses.replace(fact, os_name=next((name for name, value in names.items() if value is os), ""))


def path_of_file(file: Any) -> str | None:
    """The path given, or that of the open file given."""
    has_name = is_a(file, io.IOBase) and hasattr(file, "name")
    named = file.name if has_name else own_attributes(file).get("name", file)
    return str.__str__(named) if is_a(named, str) else str(named) if is_a(named, PurePath) else None


def _to_read(path: str) -> FileFact:
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        return FileFact(path, folder=True, near=tuple(_checkpoints_in(path))[:_NEAR])
    if not os.path.isfile(path):
        found = os.path.isdir(folder)
        names = list(_checkpoints_in(folder)) if found else []
        lower = [name.lower() for name in names]
        similar = difflib.get_close_matches(os.path.basename(path).lower(), lower, _NEAR, 0.6)
        ranked = [name for low in similar for name in names if name.lower() == low]
        near = tuple(dict.fromkeys(ranked)) or tuple(names[:_NEAR])
        return FileFact(path, exists=False, parent_exists=found, near=near)
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(_HEAD)
        file.seek(max(0, size - _TAIL))
        form = form_of(head, file.read(_TAIL), size)
    if form == "zip":
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
        kinds = {"torchscript": "/constants.pkl", "torch-zip": "/data.pkl", "zip": ""}
        form = next(kind for kind, end in kinds.items() if not end or any(name.endswith(end) for name in names))
    promised = re.search(rb"^size (\d+)", head, re.MULTILINE) if form == "lfs-pointer" else None
    start = " ".join(head.decode("utf-8", errors="replace").split())[:60] if form in _TEXTS else ""
    return FileFact(path, size_bytes=size, form=form, start=start, expected_bytes=int(promised[1]) if promised else 0)


def _checkpoints_in(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        names = [entry.name for entry in itertools.islice(entries, _FILES)]
    return (name for name in sorted(names) if name.lower().endswith(_SUFFIXES))


def _to_write(path: str, value: Any) -> FileFact:
    folder = os.path.dirname(os.path.abspath(path))
    found = os.path.isdir(folder)
    return FileFact(
        path,
        writing=True,
        exists=os.path.exists(path),
        folder=os.path.isdir(path),
        parent_exists=found,
        size_bytes=os.path.getsize(path) if os.path.isfile(path) else 0,
        expected_bytes=_bytes(value),
        free_bytes=shutil.disk_usage(folder).free if found else -1,
    )


def _bytes(value: Any, depth: int = 0) -> int:
    """Of the tensors in nested plain containers."""
    if is_tensor(value):
        return int(value.numel() * value.element_size())
    if depth >= _DEPTH:
        return 0
    if is_one_of(value, (dict, OrderedDict)):
        return sum(_bytes(item, depth + 1) for item in value.values())
    return sum(_bytes(item, depth + 1) for item in value) if is_one_of(value, (list, tuple)) else 0


# What a file is, by its size and its first and last bytes: nothing is ever unpickled to find out.
_HEAD, _TAIL = 256, 512
_STARTS = {
    b"\x93NUMPY": "numpy",
    b"\x89HDF\r\n": "hdf5",
    b"\x1f\x8b": "gzip",
    b"version https://git-lfs": "lfs-pointer",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"\x89PNG": "image",
    b"\xff\xd8\xff": "image",
    b"%PDF": "pdf",
    b"GGUF": "gguf",
}
_END_OF_ZIP = b"PK\x05\x06"
# How torch.save began before its files were zip archives: a pickled magic number of ten bytes.
_OLD_TORCH = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."


def form_of(head: bytes, tail: bytes, size: int) -> str:
    """empty, zip, cut-zip, old-torch, pickle, safetensors, html, lfs-pointer, json, text, ...; or unknown"""
    if not size:
        return "empty"
    for start, form in _STARTS.items():
        if head.startswith(start):
            return form
    if head.startswith(b"PK"):
        return "zip" if _END_OF_ZIP in tail else "cut-zip"
    if not head.strip(b"\0"):
        return "zeros"
    if _OLD_TORCH.startswith(head[: len(_OLD_TORCH)]):
        return "old-torch"
    if head[0] == 0x80 and len(head) > 1 and head[1] in (2, 3, 4, 5):
        return "pickle"
    length = struct.unpack("<Q", head[:8])[0] if len(head) > 8 else 0
    if head[8:9] == b"{" and 0 < length < 100_000_000:
        return "safetensors" if length + 8 <= size else "cut-safetensors"
    return _text(head)


def _text(head: bytes) -> str:
    if re.match(rb"\s*<(?:!doctype|html|\?xml)", head, re.IGNORECASE):
        return "html"
    try:
        text = head.decode("utf-8", errors="strict" if len(head) < _HEAD else "ignore")
    except UnicodeDecodeError:
        return "unknown"
    if not all(character.isprintable() or character.isspace() for character in text):
        return "unknown"
    return "json" if text.lstrip().startswith(("{", "[")) else "text"
