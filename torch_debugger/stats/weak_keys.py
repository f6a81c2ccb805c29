"""Dictionaries whose keys are told apart by identity and do not keep what they are alive."""

from __future__ import annotations

import weakref
from typing import Any

from torch.utils.weak import WeakIdKeyDictionary, WeakIdRef


class _IdRef(WeakIdRef):
    """torch's own asks what it refers to for `_fix_weakref`, which calls a `__getattr__` of the script's. Only
    tensors have that."""

    __slots__ = ()
    __call__: Any = weakref.ref.__call__


class WeakKeysById(WeakIdKeyDictionary):
    """For keys that are no tensors: models, loaders and their iterators."""

    def __init__(self) -> None:
        super().__init__(ref_type=_IdRef)
