"""What a log holds that no view of the page shows, with its count: nothing vanishes without a word."""

from __future__ import annotations

import os
from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.runlog.stores import is_url

_SHOWN = {"scalars", "histograms", "pictures", "texts", "sounds", "hparams", "pr_curves", "custom_scalars"}
# By kind, as `Run.tags` has them: what a reader calls it. Another kind goes by the name of its plugin.
_NAMES = {"mesh": "part of meshes (add_mesh)", "tensors": "value of no known kind"}
# Beside the log: the file, what counts one of them in it, and what a reader calls it.
_FILES = (("projector_config.pbtxt", b"embeddings {", "embedding (add_embedding)"),)
_LARGEST_BYTES = 1_000_000
_MOST_TAGS = 5  # that are named


def not_shown(run: Run) -> list[dict[str, Any]]:
    """A line for each kind: its name, how many tags it has, and the first of them."""
    kinds = {kind: tags for kind, tags in run.tags.items() if kind not in _SHOWN and tags}
    logged = [
        {
            "kind": _NAMES.get(kind, f"tag of the plugin {_readable(kind)}"),
            "count": len(tags),
            "tags": [_readable(tag) for tag in tags[:_MOST_TAGS]],
        }
        for kind, tags in kinds.items()
    ]
    counts = [(name, _count_in(run.folder, file, mark)) for file, mark, name in _FILES]
    return logged + [{"kind": name, "count": count, "tags": []} for name, count in counts if count]


def _count_in(folder: str, file: str, mark: bytes) -> int:
    path = os.path.join(folder, file)
    try:
        if is_url(folder) or os.path.getsize(path) > _LARGEST_BYTES:
            return 0
        with open(path, "rb") as opened:
            return opened.read().count(mark)
    except OSError:  # most runs have none
        return 0


def _readable(tag: str) -> str:
    return tag.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
