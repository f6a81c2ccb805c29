"""What somebody has said about the runs on the page: a name, tags, a note.

Kept in one small file in the folder that is shown, never in a run's own files: deleting it loses nothing else.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from torch_debugger.errors import UsageError
from torch_debugger.report.whole_file import write_whole
from torch_debugger.runlog.stores import is_url
from torch_debugger.viewer.run_finder import Shown

FILE = ".torch-debugger-page.json"
_LARGEST_BYTES = 16_000_000
_LONGEST_NAME, _LONGEST_TAG, _LONGEST_NOTE, _MOST_TAGS = 200, 60, 20_000, 30
_JOINERS = "\u200c\u200d"  # in Persian words and in pictures made of several
_writing = threading.Lock()

Label = dict[str, Any]  # name, tags, note: those that were given


class Entry(NamedTuple):
    """Where the label of a run is kept."""

    folder: str
    key: str


def entry_of(shown: Shown) -> Entry:
    """A run that is shown alone has its label where the folder around it has those of its neighbours."""
    if shown.found.name != ".":
        return Entry(shown.root, shown.found.name)
    folder, key = os.path.split(os.path.abspath(shown.root))
    return Entry(folder, key)


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


def change_label(entry: Entry, changes: Mapping[str, Any]) -> Label:
    """Sets what is given; an empty text or list takes it away. Returns the label as it is then."""
    with _writing:
        labels = read_labels(entry.folder)
        label = {**labels.get(entry.key, {}), **checked(changes)}
        labels[entry.key] = {name: value for name, value in label.items() if value}
        _write(entry.folder, labels)
        return labels[entry.key]


def drop_label(entry: Entry) -> None:
    with _writing:
        labels = read_labels(entry.folder)
        if labels.pop(entry.key, None) is not None:
            _write(entry.folder, labels)


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
