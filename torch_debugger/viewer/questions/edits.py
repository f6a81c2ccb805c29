"""What the page can change: a run's shown name, its tags and its note; and a run can be deleted.

Told by POST as {"run", "name" | "tags" | "note"} or {"run", "delete": true, "confirm": RUN}.
"""

from __future__ import annotations

from typing import Any

from torch_debugger.errors import UsageError
from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.deleting import delete_run
from torch_debugger.viewer.labels import change_label, drop_label, entry_of, whole

_LABEL = ("name", "tags", "note")


def answer(asked: Asked) -> dict[str, Any]:
    told = asked.told
    if told is None:
        raise UsageError("An edit is told by POST, from the page.")
    run = told.get("run")
    if not isinstance(run, str):
        raise UsageError("An edit names its run.")
    if told.get("delete") is True:
        return _deleted(asked, run)
    changes = {name: told[name] for name in _LABEL if name in told}
    if not changes:
        raise UsageError("An edit gives a name, tags or a note, or says delete.")
    label = change_label(entry_of(asked.shelf.shown(run)), changes)
    return {"run": run, **whole(label)}


def _deleted(asked: Asked, run: str) -> dict[str, Any]:
    shown = asked.shelf.shown(run)
    left = delete_run(run, shown, (asked.told or {}).get("confirm"))
    asked.shelf.forget(run)
    drop_label(entry_of(shown))
    return {"run": run, "deleted": True, "left": left}
