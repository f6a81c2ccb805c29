"""What stands in front of a trace's events: the devices, the rank, and how the profiler was set up."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class Header:
    device_name: str = ""
    capability: tuple[int, int] = (0, 0)
    device_bytes: int = 0
    rank: int = -1  # -1: the trace does not say
    world_size: int = 0
    backend: str = ""


def read_header(text: str) -> Header:
    """The text may be cut anywhere, and may hold anything."""
    devices, ranks = _value(text, "deviceProperties"), _value(text, "distributedInfo")
    first = devices[0] if type(devices) is list and devices and type(devices[0]) is dict else {}
    ranks = ranks if type(ranks) is dict else {}
    return Header(
        str(first.get("name") or "")[:100],
        (_whole(first.get("computeMajor")), _whole(first.get("computeMinor"))),
        _whole(first.get("totalGlobalMem")),
        _whole(ranks.get("rank"), -1),
        _whole(ranks.get("world_size")),
        str(ranks.get("backend") or "")[:40],
    )


def _value(text: str, key: str) -> Any:
    found = text.find(f'"{key}"')
    colon = text.find(":", found) if found >= 0 else -1
    if colon < 0:
        return None
    begin = colon + 1 + len(text[colon + 1 :]) - len(text[colon + 1 :].lstrip())
    try:
        return _DECODER.raw_decode(text, begin)[0]
    except (ValueError, RecursionError):
        return None


def _whole(value: Any, otherwise: int = 0) -> int:
    return value if type(value) is int and 0 <= value < 2**63 else otherwise
