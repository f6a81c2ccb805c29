"""Takes a run away: its event files and what we wrote beside them, and nothing else that lies there."""

from __future__ import annotations

import os

from torch_debugger.archive.folders import event_files
from torch_debugger.errors import UsageError
from torch_debugger.runlog.stores import is_url
from torch_debugger.viewer.run_finder import Shown
from torch_debugger.viewer.standing import stand_of

_BESIDE = ("result.json", "report.md")  # what `torch-debugger run` writes at the end


def delete_run(name: str, shown: Shown, confirm: object) -> list[str]:
    """The names of files that are left in the folder because they are not ours; none where it is gone."""
    folder = shown.found.folder
    if confirm != name:
        raise UsageError(f"Nothing was deleted: confirm must repeat the name of the run, {name!r}.")
    if is_url(folder):
        raise UsageError("A run in an object store is not deleted from here.")
    _require_inside(folder, shown.root)
    if stand_of(folder).grows:
        raise UsageError(f"The run {name!r} may still be written to. Stop it first, then delete it.")
    try:
        return _take_away(folder)
    except OSError as error:
        raise UsageError(f"The run {name!r} could not be deleted: {error.strerror}.") from error


def _require_inside(folder: str, root: str) -> None:
    real, above = os.path.realpath(folder), os.path.realpath(root)
    if real != above and not real.startswith(os.path.join(above, "")):
        raise UsageError("This run lies elsewhere, and only a link leads to it from the folder that is shown.")


def _take_away(folder: str) -> list[str]:
    beside = [os.path.join(folder, name) for name in _BESIDE]
    for path in [*event_files(folder), *filter(os.path.isfile, beside)]:
        os.unlink(path)
    left = sorted(os.listdir(folder))
    if not left:
        os.rmdir(folder)
    return left
