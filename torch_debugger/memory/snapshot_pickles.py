"""The process that reads one pickle: it has limits, and says in JSON what it has found."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import sys
from typing import IO, Any

from torch_debugger.memory.snapshots import NotASnapshotError, read_allocator, snapshot_to_json
from torch_debugger.system.errors import UsageError

_LEAST_BYTES, _TIMES_FILE = 1_500_000_000, 40  # of memory: dictionaries take many times their pickle
_CPU_S = 280


def main() -> None:
    path = sys.argv[1]
    with contextlib.suppress(ImportError, OSError, ValueError):  # Windows has no limits: there the file is read without
        import resource

        physical_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        most = max(_LEAST_BYTES, min(_TIMES_FILE * os.path.getsize(path), physical_bytes * 3 // 4))
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S, _CPU_S))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stdout.write(json.dumps(answer(path)))


def answer(path: str) -> dict[str, Any]:
    """`text`, the JSON of the snapshot, or `reason`, why there is none."""
    try:
        with open(path, "rb") as file:
            plain = load_plain(file)
        if isinstance(plain, JsonInside):
            return {"text": str(plain)}
        return {"text": snapshot_to_json(read_allocator(plain))}
    except (RefusedPickleError, NotASnapshotError) as error:
        return {"reason": str(error)}
    except (EOFError, MemoryError) as error:
        return {"reason": "its end is missing" if isinstance(error, EOFError) else "it asks for too much memory"}
    except Exception as error:  # the machine of pickle raises anything at bytes that are none of its own
        kind = "its end is missing" if "truncated" in str(error) else f"it is damaged ({type(error).__name__})"
        return {"reason": kind}


# A pickle that holds nothing but plain data. One that names a function or a class is refused.

# What `pickle.dump(torch_debugger.memory.snapshot(), file)` writes down: one call, with one text.
OURS = ("torch_debugger.memory.snapshots", "from_json")


class RefusedPickleError(UsageError):
    """It holds something else than plain data."""


class JsonInside(str):
    """The text of a snapshot of ours that somebody has pickled."""

    __slots__ = ()


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == OURS:
            return _json_inside
        raise RefusedPickleError(f"it names `{module}.{name}`, which opening it would run")

    def persistent_load(self, reference: Any) -> Any:
        raise RefusedPickleError("it refers to objects outside of it, as files of torch.save do")


def load_plain(file: IO[bytes]) -> Any:
    """Lists, tuples, sets, dictionaries, texts, numbers. RefusedPickleError for anything else; what is no
    pickle, or only its beginning, raises whatever the machine of pickle meets first."""
    return _PlainUnpickler(file).load()


def _json_inside(text: Any) -> JsonInside:
    if type(text) is not str:
        raise RefusedPickleError("its snapshot of torch-debugger is no text")
    return JsonInside(text)
