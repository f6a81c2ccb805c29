"""Object stores (s3://, gs://, memory://, ...): which files lie there, and a local copy of them.

fsspec does the talking; its libraries for the single stores are the user's to install.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch_debugger.system.errors import DebuggerError

_FETCHED = ".fetched.json"  # beside the copies: which version of each file they are of
_PROBE = ".torch-debugger-can-write"
_CHANGE_KEYS = ("ETag", "etag", "LastModified", "last_modified", "updated", "mtime", "created")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file below a URL."""

    name: str  # its path relative to the URL, with forward slashes
    size: int
    version: str  # differs once the file was written anew, as far as the store tells


def is_url(place: str | os.PathLike[str]) -> bool:
    """s3://bucket/runs is one; a path, also one of Windows, is not."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", os.fspath(place)) is not None


class Store:
    """A place in an object store. Whatever goes wrong there is a DebuggerError with a sentence."""

    def __init__(self, url: str) -> None:
        import fsspec

        self.url = url.rstrip("/")
        protocol = url.split("://", 1)[0]
        try:
            self._system, self._root = fsspec.core.url_to_fs(self.url)
        except ImportError as error:
            from fsspec.registry import known_implementations

            library = known_implementations.get(protocol, {}).get("class", protocol).split(".")[0]
            raise DebuggerError(
                f"{self.url} needs the library {library}, which is not installed. Get it with `pip install {library}`."
            ) from error
        except ValueError as error:
            raise DebuggerError(f"{self.url} is no place that fsspec knows: {error}.") from error

    def list_files(self) -> list[StoredFile]:
        """All files below, in the order of their names; none where nothing was written yet."""
        with self._talking("listed"):
            self._system.invalidate_cache()
            try:
                found = self._system.find(self._root, detail=True)
            except FileNotFoundError:
                return []
        start = len(self._root.rstrip("/")) + 1
        stored: list[StoredFile] = []
        for path, about in sorted(found.items()):
            if path[start:]:
                version = next((str(about[key]) for key in _CHANGE_KEYS if about.get(key)), "")
                stored.append(StoredFile(path[start:], int(about.get("size") or 0), version))
        return stored

    def read(self, name: str, start: int = 0) -> bytes:
        with self._talking("read"):
            data: bytes = self._system.cat_file(self._path(name), start=start or None)
        return data

    def write(self, name: str, data: bytes) -> None:
        with self._talking("written to"):
            try:
                self._system.pipe_file(self._path(name), data)
            except FileNotFoundError as error:  # no file is missing but the bucket
                raise OSError(str(error)) from error

    def require_writable(self) -> None:
        """Complains before a run, not after hours of it."""
        self.write(_PROBE, b"")
        with suppress(Exception):  # who may write may not always delete; an empty file does no harm
            self._system.rm_file(self._path(_PROBE))

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    @contextmanager
    def _talking(self, deed: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except Exception as error:  # each library has exceptions of its own
            why = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            raise DebuggerError(f"{self.url} could not be {deed}: {why}.") from error


def list_files(url: str) -> list[StoredFile]:
    return Store(url).list_files()


def fetch_new(url: str, folder: str | os.PathLike[str], wanted: Callable[[str], bool] = lambda name: True) -> list[str]:
    """Copies what is new below `url` into a local `folder`, all of it or what is wanted by its name, and names
    the files that changed.

    Event files only grow, so of one that was fetched before only the rest is asked for and appended:
    whoever has the copy open reads on. Other files are replaced.
    """
    store, target = Store(url), Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    had: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        known = json.loads((target / _FETCHED).read_text())
        had = known if isinstance(known, dict) else {}
    there = [file for file in store.list_files() if wanted(file.name)]
    changed = [file for file in there if had.get(file.name) != [file.size, file.version]]
    fetched = [file.name for file in changed if _fetch(store, file, target, had)]
    (target / _FETCHED).write_text(json.dumps(had))
    return fetched


def _fetch(store: Store, file: StoredFile, target: Path, had: dict[str, Any]) -> bool:
    path = target / file.name
    if not path.resolve().is_relative_to(target.resolve()) or file.name == _FETCHED:
        return False  # a name made to write elsewhere
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.stat().st_size if file.name in had and path.exists() else 0
    try:
        if "tfevents" in path.name and 0 < before <= file.size:
            with path.open("ab") as copy:
                copy.write(store.read(file.name, before) if before < file.size else b"")
        else:
            part = path.with_name(f".{path.name}.part")
            part.write_bytes(store.read(file.name))
            part.replace(path)
    except FileNotFoundError:
        return False  # removed since it was listed
    had[file.name] = [file.size, file.version]
    return True


# Folders and URLs with names of the user's in front: base:runs/a, as in TensorBoard's --logdir_spec.
_NAMED = re.compile(r"(?P<name>[^/\\:][^/\\:]*):(?P<place>(?!//).+)", re.DOTALL)  # no s3://, no /with:colon
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


def named_place(said: str) -> tuple[str | None, str]:
    """The name, or None, and the place. A path that is there is a path, whatever it looks like; C:\\runs is one
    on every system, C:/runs where it cannot be the run c."""
    found = _NAMED.fullmatch(said)
    if found is None or os.path.exists(said) or _is_drive(said):
        return None, said
    return found["name"], found["place"]


def named_places(words: Sequence[str]) -> list[tuple[str | None, str]]:
    """Of several arguments, in each of which there may be several with commas between."""
    return [named_place(part) for word in words for part in _parts(word)]


def _parts(word: str) -> list[str]:
    """A comma separates only what has a name: it can stand in the name of a folder."""
    if os.path.exists(word) or "," not in word:
        return [word]
    parts = [part for part in word.split(",") if part]
    named = [named_place(part) for part in parts]
    are_there = all(os.path.exists(place) or "://" in place for _, place in named)
    return parts if are_there or any(name is not None for name, _ in named) else [word]


def _is_drive(said: str) -> bool:
    return bool(_DRIVE.match(said)) and (os.name == "nt" or said[2] == "\\" or not os.path.exists(said[2:]))
