"""The process that reads one pickle: it has limits, and says in JSON what it has found."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any

from torch_debugger.dumps.allocator import read_allocator
from torch_debugger.dumps.opening import snapshot_to_json
from torch_debugger.dumps.plain_pickle import JsonInside, RefusedPickleError, load_plain
from torch_debugger.dumps.plain_values import NotASnapshotError

_LEAST_BYTES, _TIMES_FILE = 1_500_000_000, 40  # of memory: dictionaries take many times their pickle
_CPU_S = 280


def main() -> None:
    path = sys.argv[1]
    _set_limits(os.path.getsize(path))
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
        return {
            "reason": "its end is missing" if isinstance(error, EOFError) else "it asks for too much memory"
        }
    except Exception as error:  # the machine of pickle raises anything at bytes that are none of its own
        kind = "its end is missing" if "truncated" in str(error) else f"it is damaged ({type(error).__name__})"
        return {"reason": kind}


def _set_limits(size_bytes: int) -> None:
    """Windows has none: there the file is read without."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        most = max(_LEAST_BYTES, min(_TIMES_FILE * size_bytes, _physical_bytes() * 3 // 4))
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S, _CPU_S))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _physical_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
