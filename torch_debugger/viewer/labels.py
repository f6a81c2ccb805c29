"""The names, tags and notes that were given to runs on the page."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from torch_debugger.log.folders import event_files
from torch_debugger.log.object_stores import is_url
from torch_debugger.report.text import write_whole
from torch_debugger.system.errors import UsageError
from torch_debugger.viewer.questions import Query
from torch_debugger.viewer.shown_runs import ShownRun, stand_of


def answer_labels(query: Query) -> dict[str, Any]:
    """{"runs": {NAME: {"name", "tags", "note"}}}, of those that have any."""
    shown = query.shown_runs.all_shown()
    entries = {name: entry_of(each) for name, each in shown.items()}
    kept = {folder: read_labels(folder) for folder in {entry.folder for entry in entries.values()}}
    labelled = {name: label for name, entry in entries.items() if (label := kept[entry.folder].get(entry.key))}
    return {"runs": {name: whole(label) for name, label in labelled.items()}}


# What the page can change: a run's shown name, its tags and its note; and a run can be deleted.
#
# Told by POST as {"run", "name" | "tags" | "note"} or {"run", "delete": true, "confirm": RUN}.
_LABEL = ("name", "tags", "note")


def answer_edits(query: Query) -> dict[str, Any]:
    edit = query.edit
    if edit is None:
        raise UsageError("An edit is told by POST, from the page.")
    run = edit.get("run")
    if not isinstance(run, str):
        raise UsageError("An edit names its run.")
    if edit.get("delete") is True:
        shown = query.shown_runs.shown(run)
        left = delete_run(run, shown, edit.get("confirm"))
        query.shown_runs.forget(run)
        entry = entry_of(shown)
        with _writing:
            labels = read_labels(entry.folder)
            if labels.pop(entry.key, None) is not None:
                _write(entry.folder, labels)
        return {"run": run, "deleted": True, "left": left}
    changes = {name: edit[name] for name in _LABEL if name in edit}
    if not changes:
        raise UsageError("An edit gives a name, tags or a note, or says delete.")
    label = change_label(entry_of(query.shown_runs.shown(run)), changes)
    return {"run": run, **whole(label)}


# What somebody has said about the runs on the page: a name, tags, a note.
#
# Kept in one small file in the folder that is shown, never in a run's own files: deleting it loses nothing else.
FILE = ".torch-debugger-page.json"
_LARGEST_BYTES = 16_000_000
_LONGEST_NAME, _LONGEST_TAG, _LONGEST_NOTE, _MOST_TAGS = 200, 60, 20_000, 30
_JOINERS = "\u200c\u200d"  # in Persian words and in pictures made of several
_writing = threading.Lock()

Label = dict[str, Any]  # name, tags, note: those that were given


class LabelEntry(NamedTuple):
    """Where the label of a run is kept."""

    folder: str
    key: str


def entry_of(shown: ShownRun) -> LabelEntry:
    """A run that is shown alone has its label where the folder around it has those of its neighbours."""
    if shown.found.name != ".":
        return LabelEntry(shown.root, shown.found.name)
    folder, key = os.path.split(os.path.abspath(shown.root))
    return LabelEntry(folder, key)


def read_labels(folder: str) -> dict[str, Label]:
    """By run; what is no label in it is passed over."""
    path = Path(folder, FILE)
    try:
        if is_url(folder) or path.stat().st_size > _LARGEST_BYTES:
            return {}
        runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
        return {str(key): label for key, said in runs.items() if (label := _sound(said))}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def change_label(entry: LabelEntry, changes: Mapping[str, Any]) -> Label:
    """Sets what is given; an empty text or list takes it away. Returns the label as it is then."""
    with _writing:
        labels = read_labels(entry.folder)
        label = {**labels.get(entry.key, {}), **checked(changes)}
        labels[entry.key] = {name: value for name, value in label.items() if value}
        _write(entry.folder, labels)
        return labels[entry.key]


def whole(label: Label) -> Label:
    """With what was not given."""
    return {"name": label.get("name", ""), "tags": label.get("tags", []), "note": label.get("note", "")}


def checked(changes: Mapping[str, Any]) -> Label:
    label: Label = {}
    if "name" in changes:
        label["name"] = _text("A name", changes["name"], _LONGEST_NAME)
    if "note" in changes:
        label["note"] = _text("A note", changes["note"], _LONGEST_NOTE, lines=True)
    if "tags" in changes:
        tags = changes["tags"]
        if not isinstance(tags, list) or len(tags) > _MOST_TAGS:
            raise UsageError(f"Tags are a list of at most {_MOST_TAGS} words.")
        words = [_text("A tag", tag, _LONGEST_TAG) for tag in tags]
        label["tags"] = [word for word in dict.fromkeys(words) if word]
    return label


def _text(what: str, value: Any, longest: int, *, lines: bool = False) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{what} is a text, but {type(value).__name__} came.")
    text = value.strip()
    if len(text) > longest:
        raise UsageError(f"{what} has at most {longest:,} letters; this one has {len(text):,}.")
    allowed = _JOINERS + ("\n\t\r" if lines else "")
    if any(not letter.isprintable() and letter not in allowed for letter in text):
        raise UsageError(f"{what} must not hold control characters.")
    return text


def _sound(said: Any) -> Label | None:
    if not isinstance(said, dict):
        return None
    label: Label = {}
    for name in ("name", "tags", "note"):
        with suppress(UsageError):
            label |= checked({name: said[name]} if name in said else {})
    return label or None


def _write(folder: str, labels: Mapping[str, Label]) -> None:
    kept = {"format": 1, "runs": {key: label for key, label in sorted(labels.items()) if label}}
    path = Path(folder, FILE)
    try:
        _spare_damaged(path)
        write_whole(path, json.dumps(kept, indent=1) + "\n")
    except OSError as error:
        raise UsageError(f"{FILE} cannot be written in {folder}: {error.strerror}.") from error


def _spare_damaged(path: Path) -> None:
    """A file that is not ours to read any more (edited by hand, from a later version) is put aside."""
    if not path.is_file():
        return
    try:
        sound = isinstance(json.loads(path.read_text(encoding="utf-8"))["runs"], dict)
    except (ValueError, KeyError, TypeError, RecursionError):
        sound = False
    if not sound:
        path.replace(path.with_name(f"{path.name}.damaged"))


# Takes a run away: its event files and what we wrote beside them, and nothing else that lies there.
_BESIDE = ("result.json", "report.md")  # what `torch-debugger run` writes at the end


def delete_run(name: str, shown: ShownRun, confirm: object) -> list[str]:
    """The names of files that are left in the folder because they are not ours; none where it is gone."""
    folder = shown.found.folder
    if confirm != name:
        raise UsageError(f"Nothing was deleted: confirm must repeat the name of the run, {name!r}.")
    if is_url(folder):
        raise UsageError("A run in an object store is not deleted from here.")
    real, above = os.path.realpath(folder), os.path.realpath(shown.root)
    if real != above and not real.startswith(os.path.join(above, "")):
        raise UsageError("This run lies elsewhere, and only a link leads to it from the folder that is shown.")
    if stand_of(folder).grows:
        raise UsageError(f"The run {name!r} may still be written to. Stop it first, then delete it.")
    try:
        beside = [os.path.join(folder, name) for name in _BESIDE]
        for path in [*event_files(folder), *filter(os.path.isfile, beside)]:
            os.unlink(path)
        left = sorted(os.listdir(folder))
        if not left:
            os.rmdir(folder)
        return left
    except OSError as error:
        raise UsageError(f"The run {name!r} could not be deleted: {error.strerror}.") from error
