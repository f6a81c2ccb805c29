"""A pickle that holds nothing but plain data. One that names a function or a class is refused."""

from __future__ import annotations

import pickle
from typing import IO, Any

from torch_debugger.errors import UsageError

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
