"""What torch.load refuses: to import a class it does not know, to put a tensor on a device that is not here."""

from __future__ import annotations

import builtins
import os
import pickletools
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.sources import is_user_file
from torch_debugger.probes.crash_frames import walk_traceback
from torch_debugger.probes.examiners.checkpoint_files import path_given
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence.checkpoints import RefusedGlobal, StorageLocation

_PICKLE_BYTES, _GLOBALS = 20_000_000, 24
_UNPICKLER = "_weights_only_unpickler.py"


def examine_refusals(scene: Scene) -> tuple[tuple[RefusedGlobal, ...], bool]:
    """The class that was refused, then the others in the file that would be; and whether these are all."""
    seen = scene.frame_of("load", "serialization.py")
    first = _refused_first(scene.error)
    if seen is None or not first:
        return (), False
    others = _refused_in(_path(seen.frame.f_locals.get("f")))
    names = list(dict.fromkeys([first, *others]))[:_GLOBALS]
    user = scene.user_frame
    reach = {**user.frame.f_globals, **user.frame.f_locals} if user is not None else {}
    return tuple(_describe(name, reach) for name in names), bool(others)


def _path(given: Any) -> str:
    """Of the file that was given by its path, or open; empty for what has none, or is gone."""
    path = path_given(given)
    return path if path is not None and os.path.isfile(path) else ""


def _refused_first(error: BaseException) -> str:
    """From the unpickler's own frame: torch.load raises its advice while that error is handled."""
    inner = error.__context__ or error
    for seen in reversed(walk_traceback(inner.__traceback__)):
        held = seen.frame.f_locals
        if seen.file.endswith(_UNPICKLER) and type(held.get("full_path")) is str:
            text = str(inner)
            return f"{held['module']}.{held['name']}" if "GLOBAL" in text else _built_class(text)
    return ""


def _built_class(text: str) -> str:
    """A class that appears only while building, as the dtype classes of numpy do."""
    found = re.search(r"but got <class '([\w.]+)'>", text)
    return found[1] if found else ""


def _refused_in(path: str) -> list[str]:
    """All that weights_only would refuse, read from the pickle's opcodes; nothing of it is run."""
    listing = getattr(torch.serialization, "get_unsafe_globals_in_checkpoint", None)
    code = _pickle_code(path) if listing is not None and path else None
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
    value = _reached(name, sys.modules.get(home))
    if value is None:
        value = reach.get(last) if home == "__main__" else None
    return RefusedGlobal(
        name=name,
        user_class=_is_users(home, value),
        function=is_a(value, FunctionType),
        module_class=is_a(value, type) and issubclass(value, nn.Module),
        written=_written(value, name, reach) if value is not None else "",
    )


def _reached(name: str, module: Any) -> Any:
    return vars(module).get(name.rpartition(".")[2]) if is_a(module, ModuleType) else None


def _is_users(home: str, value: Any) -> bool:
    file = getattr(sys.modules.get(home), "__file__", None)
    if home == "__main__":
        return True
    return is_a(file, str) and is_user_file(file) and value is not None


def _written(value: Any, name: str, reach: Mapping[str, Any]) -> str:
    """Config, nn.Linear, np.dtype: by a name of the user's, else by a module that they imported."""
    last = name.rpartition(".")[2]
    if reach.get(last, vars(builtins).get(last)) is value:
        return last
    modules = [(held, module) for held, module in reach.items() if is_a(module, ModuleType)]
    return next(_paths(value, name, modules), "")


def _paths(value: Any, name: str, modules: Iterable[tuple[str, ModuleType]]) -> Iterator[str]:
    parts = name.split(".")
    for held, module in sorted(modules, key=lambda pair: -len(pair[1].__name__)):
        if vars(module).get(parts[-1]) is value:
            yield f"{held}.{parts[-1]}"
    for held, module in modules:
        if module.__name__ == parts[0]:
            yield ".".join([held, *parts[1:]])


def examine_location(scene: Scene) -> StorageLocation | None:
    """The device that a stored tensor was to be put on, from the frame that tried."""
    seen, load = scene.frame_of("default_restore_location"), scene.frame_of("load", "serialization.py")
    innermost = scene.innermost
    if seen is None or load is None or innermost is None or innermost.user:
        return None
    location, asked = str(seen.frame.f_locals.get("location")), load.frame.f_locals.get("map_location")
    given = str(asked) if is_a(asked, (str, torch.device)) else ""
    return StorageLocation(
        location=location,
        available=_devices(location.partition(":")[0]),
        asked=given or ("a function or mapping" if asked is not None else ""),
        asked_itself=bool(given) and location == given,
    )


def _devices(kind: str) -> int:
    """How many there are; the crash came from asking the same, so nothing new is woken."""
    if kind == "cpu":
        return 1
    backend = getattr(torch, kind, None)
    available = getattr(backend, "is_available", None)
    if available is None or not available():
        return 0
    return int(getattr(backend, "device_count", lambda: 1)())
