"""What a log holds that no view of the page shows, with its count: nothing vanishes without a word."""

from __future__ import annotations

from typing import Any

from torch_debugger.archive.parsing import GRAPHS, MESHES
from torch_debugger.archive.run import Run

_SHOWN = {"scalars", "histograms", "pictures", "texts", "sounds", "hparams", "pr_curves", "custom_scalars"}
_SHOWN |= {GRAPHS, MESHES}
# By kind, as `Run.tags` has them: what a reader calls it. Another kind goes by the name of its plugin.
_NAMES = {"tensors": "value of no known kind"}
_MOST_TAGS = 5  # that are named


def not_shown(run: Run) -> list[dict[str, Any]]:
    """A line for each kind: its name, how many tags it has, and the first of them."""
    kinds = {kind: tags for kind, tags in run.tags.items() if kind not in _SHOWN and tags}
    return [
        {
            "kind": _NAMES.get(kind, f"tag of the plugin {_readable(kind)}"),
            "count": len(tags),
            "tags": [_readable(tag) for tag in tags[:_MOST_TAGS]],
        }
        for kind, tags in kinds.items()
    ]


def _readable(tag: str) -> str:
    return tag.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
