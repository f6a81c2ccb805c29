"""Protobuf's text form, as far as projector_config.pbtxt needs it: fields with numbers, texts and messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_TOKEN = re.compile(
    r"""\s+|\#[^\n]*|(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
    r"""|(?P<mark>[{}<>\[\]:;,])|(?P<word>[^\s{}<>\[\]:;,\#"']+)""",
    re.DOTALL,
)
_ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_DEEPEST = 20
_CLOSING = {"{": "}", "<": ">"}

Message = dict[str, list[Any]]  # every field as often as it stands there


def parse(text: str) -> Message:
    """Numbers and names stay the words they are. Raises ValueError for what is no message."""
    tokens = list(_tokens(text))
    found, at = _message(tokens, 0, "", 0)
    if at < len(tokens):
        raise ValueError(f"{tokens[at]!r} closes nothing")
    return found


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"{text[at : at + 20]!r} is no part of a message")
        if match.lastgroup is not None:
            yield match[0]
        at = match.end()


def _message(tokens: list[str], at: int, closing: str, depth: int) -> tuple[Message, int]:
    if depth > _DEEPEST:
        raise ValueError("messages lie too deep in each other")
    found: Message = {}
    while at < len(tokens) and tokens[at] != closing:
        name = tokens[at]
        if name in (";", ","):
            at += 1
            continue
        if not re.fullmatch(r"[A-Za-z_][\w.]*", name):
            raise ValueError(f"{name!r} is no name of a field")
        at += 1 + (_peek(tokens, at + 1) == ":")
        values, at = _values(tokens, at, depth)
        found.setdefault(name, []).extend(values)
    if closing and at >= len(tokens):
        raise ValueError(f"a {closing!r} is missing")
    return found, at + bool(closing)


def _values(tokens: list[str], at: int, depth: int) -> tuple[list[Any], int]:
    if _peek(tokens, at) != "[":
        value, at = _value(tokens, at, depth)
        return [value], at
    values: list[Any] = []
    at += 1
    while _peek(tokens, at) != "]":
        if tokens[at] == ",":
            at += 1
            continue
        value, at = _value(tokens, at, depth)
        values.append(value)
    return values, at + 1


def _value(tokens: list[str], at: int, depth: int) -> tuple[Any, int]:
    first = _peek(tokens, at)
    if first in _CLOSING:
        return _message(tokens, at + 1, _CLOSING[first], depth + 1)
    if first[0] not in "\"'":
        if len(first) == 1 and first in "}>[]:;,":
            raise ValueError(f"{first!r} stands in the place of a value")
        return first, at + 1
    said = ""
    while at < len(tokens) and tokens[at][0] in "\"'":  # texts side by side are one
        said += tokens[at][1:-1]
        at += 1
    return _unescaped(said), at


def _peek(tokens: list[str], at: int) -> str:
    if at >= len(tokens):
        raise ValueError("it ends in the middle of a field")
    return tokens[at]


def _unescaped(said: str) -> str:
    def plain(found: re.Match[bytes]) -> bytes:
        if found[1] or found[2]:
            return bytes([int(found[1] or found[2], 16 if found[1] else 8) & 0xFF])
        return _LETTERS.get(found[3], found[3])

    return _ESCAPE.sub(plain, said.encode("utf-8", "replace")).decode("utf-8", "replace")
