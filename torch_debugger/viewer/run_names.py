"""Names of runs in one parameter: separated by commas, each escaped like a part of an address."""

from __future__ import annotations

from urllib.parse import unquote


def read_names(said: str) -> list[str]:
    """Each once, in the order given."""
    return list(dict.fromkeys(unquote(each) for each in said.split(",") if each))
