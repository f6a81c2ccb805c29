"""Several names in one parameter of a question."""

from __future__ import annotations

import json

from torch_debugger.errors import UsageError

_MOST = 500


def names_in(text: str) -> list[str]:
    """Separated by commas; or a JSON list, for names that have commas in them. Each once, in their order."""
    if not text.startswith("["):
        return list(dict.fromkeys(filter(None, text.split(","))))[:_MOST]
    try:
        names = json.loads(text)
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UsageError(f"A list of names was expected, but {text[:200]!r} came.")
    return list(dict.fromkeys(names))[:_MOST]
