"""Which files of a folder are traces: by their names, as `tensorboard_trace_handler` gives them."""

from __future__ import annotations

import os

_ENDS = (".pt.trace.json", ".pt.trace.json.gz")
_OTHER_ENDS = ("trace.json", "trace.json.gz")  # of a file that somebody names by hand, and of ours
_MOST_FOLDERS = 20_000


def is_trace(path: str) -> bool:
    return path.endswith((*_ENDS, *_OTHER_ENDS)) and os.path.isfile(path)


def find_traces(folder: str) -> list[str]:
    """Below it, the newest first. Only names that the handler gives: a folder of runs holds traces of ours."""
    found: list[tuple[float, str]] = []
    for walked, (inside, _, files) in enumerate(os.walk(folder)):
        if walked > _MOST_FOLDERS:
            break
        paths = [os.path.join(inside, name) for name in files if name.endswith(_ENDS)]
        found += [(os.path.getmtime(path), path) for path in paths if os.path.isfile(path)]
    return [path for _, path in sorted(found, reverse=True)]
