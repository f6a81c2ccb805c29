"""A program of its own: a profile from its input, plain JSON to its output, {"profile": ...} or {"fault": ...}.

marshal trusts the bytes it reads: made-up ones can crash the interpreter, fill the memory or take for ever. So
this runs aside, with limits, and whoever started it reads nothing but JSON. It imports nothing of ours.
"""

from __future__ import annotations

import json
import marshal
import math
import sys
from types import CodeType
from typing import Any

MOST_FUNCTIONS = 5000  # of those with the most time in and below them
_MOST_MEMORY_BYTES = 2 * 2**30
_MOST_CPU_S = 10
_LONGEST_TEXT = 400
_MOST_CALLS = 2**53  # what JSON's readers keep exactly

Key = tuple[str, int, str]  # file, line, function
Numbers = tuple[int, int, float, float]  # calls that were not recursive, all calls, own seconds, with all below


class MisfitError(Exception):
    """What was read is no profile."""


def main() -> None:
    _limit()
    json.dump(_profile_or_fault(sys.stdin.buffer.read()), sys.stdout)


def _limit() -> None:
    try:
        import resource
    except ImportError:  # Windows: the time limit of the parent remains
        return
    limits = {"RLIMIT_AS": _MOST_MEMORY_BYTES, "RLIMIT_CPU": _MOST_CPU_S, "RLIMIT_CORE": 0, "RLIMIT_FSIZE": 0}
    for name, most in limits.items():
        try:
            resource.setrlimit(getattr(resource, name), (most, most))
        except (ValueError, OSError):  # lower already, or a system that has it in name only
            continue


def _profile_or_fault(data: bytes) -> dict[str, Any]:
    try:
        return {"profile": profile_in(marshal.loads(data))}
    except EOFError:
        return {"fault": "cut"}
    except MemoryError:
        return {"fault": "memory"}
    except MisfitError as error:
        return {"fault": "misfit", "detail": str(error)}
    except Exception as error:  # ValueError, TypeError and whatever else odd bytes lead to
        return {"fault": "unknown bytes", "detail": f"{error}"[:_LONGEST_TEXT]}


def profile_in(stats: Any) -> dict[str, Any]:
    """The structure is checked piece by piece, by exact types: nothing in it is called."""
    if type(stats) is not dict:
        raise MisfitError(f"a {type(stats).__name__} and no dictionary")
    read = {_key(key): _entry(value) for key, value in stats.items()}
    kept = sorted(read, key=lambda key: -read[key][0][3])[:MOST_FUNCTIONS]
    place = {key: index for index, key in enumerate(kept)}
    return {
        "total_s": math.fsum(numbers[2] for numbers, _ in read.values()),
        "calls": sum(numbers[1] for numbers, _ in read.values()),
        "functions": [[*_spot(key), *read[key][0]] for key in kept],
        "edges": [
            [place[caller], place[key], *numbers]
            for key in kept
            for caller, numbers in read[key][1].items()
            if caller in place
        ],
        "left_out": len(read) - len(kept),
    }


def _key(key: Any) -> Key:
    if type(key) is not tuple or len(key) != 3:
        raise MisfitError(f"a key that is {_kind(key)} and not (file, line, function)")
    file, line, function = key
    if type(line) is not int or not -1 <= line < 2**31:
        raise MisfitError(f"a key whose line is {_kind(line)}")
    return _text(file), line, _text(function)


def _text(value: Any) -> str:
    if type(value) is CodeType:  # `profile` keeps what it was told to run as it is
        value = value.co_name
    if type(value) is bytes:  # as Python 2 wrote it
        value = value[: 4 * _LONGEST_TEXT].decode("utf-8", "replace")
    if type(value) is not str:
        raise MisfitError(f"a name that is {_kind(value)}")
    return str(value[:_LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8"))


def _entry(value: Any) -> tuple[Numbers, dict[Key, list[float]]]:
    if type(value) is not tuple or len(value) != 5 or type(value[4]) is not dict:
        raise MisfitError(f"a function whose numbers are {_kind(value)} and not calls, times and callers")
    numbers = (_count(value[0]), _count(value[1]), _seconds(value[2]), _seconds(value[3]))
    return numbers, {_key(caller): _edge(edge, numbers) for caller, edge in value[4].items()}


def _edge(edge: Any, callee: Numbers) -> list[float]:
    """Calls, own seconds, seconds with all below. `profile` counts calls alone: times are divided by them."""
    if type(edge) is int:
        share = _count(edge) / max(callee[1], 1)
        return [edge, callee[2] * share, callee[3] * share]
    if type(edge) is not tuple or len(edge) != 4:
        raise MisfitError(f"a caller whose numbers are {_kind(edge)} and not calls and times")
    return [_count(edge[0]), _seconds(edge[2]), _seconds(edge[3])]


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= _MOST_CALLS:
        raise MisfitError(f"a count that is {_kind(value)}")
    return value


def _seconds(value: Any) -> float:
    if type(value) not in (int, float) or not -_MOST_CALLS < value < _MOST_CALLS:  # NaN is in no range
        raise MisfitError(f"a time that is {_kind(value)}")
    return max(float(value), 0.0)  # `profile` takes its own cost off, at times more than there was


def _kind(value: Any) -> str:
    if type(value) in (int, float):
        return f"{value!r}"[:40]
    if type(value) is tuple:
        return f"a tuple of {len(value)}"
    return f"of type {type(value).__name__}"


def _spot(key: Key) -> tuple[str, str, int]:
    """Function, file, line: built-in functions have no file."""
    file, line, function = key
    return (function, "", 0) if file in ("~", "") else (function, file, max(line, 0))


if __name__ == "__main__":
    main()
