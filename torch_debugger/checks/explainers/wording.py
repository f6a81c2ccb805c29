"""Small matters of English that several explainers share."""

from __future__ import annotations

_NAMES = {"ndarray": "numpy array", "numpy.ndarray": "numpy array", "NoneType": "None"}


def a_kind(kind: str) -> str:
    """an int, a numpy array, None"""
    name = _NAMES.get(kind, kind)
    if name == "None":
        return name
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def as_sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def listed(names: tuple[str, ...] | list[str]) -> str:
    """`x`, `y` and `mask`"""
    told = [f"`{name}`" for name in names]
    return " and ".join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)
