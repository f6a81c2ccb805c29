"""Ids of tokens as words, by whatever decodes them, in letters that the picture's font has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.font_manager import FontProperties, findfont, get_font
from numpy.typing import NDArray

from torch_debugger.errors import UsageError

Decode = Any  # a tokenizer, a function of ids, a list of words, a dictionary between ids and words
_LACKING = "□"
_SIGNS = {"\n": "↵", "\t": "→", "\r": ""}


def token_texts(ids: NDArray[Any], decode: Decode | None) -> list[str]:
    """One line a row: words where they are known, else the ids."""
    if decode is None:
        return [" ".join(str(each) for each in row) for row in ids.tolist()]
    read = _reader(decode)
    return [drawable(read([int(each) for each in row])) for row in ids]


def _reader(decode: Decode) -> Callable[[list[int]], str]:
    if callable(getattr(decode, "decode", None)) and not isinstance(decode, (str, bytes)):
        return lambda row: str(decode.decode(row))
    if callable(decode):
        return lambda row: str(decode(row))
    if not isinstance(decode, (Mapping, list, tuple)):
        raise UsageError(
            "decode= is a function of a list of ids, a tokenizer, a list of words or a dictionary of ids and "
            f"words, not {type(decode).__name__}."
        )
    words = _vocabulary(decode)
    between = "" if all(len(word) == 1 for word in words.values()) else " "
    return lambda row: between.join(words.get(each, f"<{each}>") for each in row)


def _vocabulary(given: Mapping[Any, Any] | Sequence[str]) -> dict[int, str]:
    """Also from word to id."""
    if not isinstance(given, Mapping):
        return {place: str(word) for place, word in enumerate(given)}
    turned = all(isinstance(value, int) for value in given.values())
    return {int(value): str(key) for key, value in given.items()} if turned else {
        int(key): str(value) for key, value in given.items()
    }  # fmt: skip


def drawable(text: str) -> str:
    """Line ends as signs; a letter that the font lacks as a box."""
    font = get_font(findfont(FontProperties(family="monospace")))
    signs = [_SIGNS.get(letter, letter) for letter in text]
    return "".join(sign if not sign or font.get_char_index(ord(sign)) else _LACKING for sign in signs)
