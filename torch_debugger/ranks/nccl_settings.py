"""What a script has said of NCCL's handling of errors, under the new name of the variable or the old."""

from __future__ import annotations

from collections.abc import Mapping

NEW, OLD = "TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING"
_MEANS = {
    "0": "nobody ends a rank whose collective fails or times out: it waits for ever",
    "1": "a rank whose collective fails or times out gives up its communicators and ends",
    "2": "the communicators are given up after an error, and the process goes on",
    "3": "a rank whose collective fails or times out ends at once",
}
_DEFAULT = "3"


def told_of_errors(settings: Mapping[str, str]) -> str:
    """Empty where nothing is set, or what torch does anyway under the name of today."""
    new, old = settings.get(NEW), settings.get(OLD)
    if old is None:
        if new is None or new == _DEFAULT:
            return ""
        return f"{NEW}={new}: {_meaning(new)}; by default ({_DEFAULT}) {_MEANS[_DEFAULT]}."
    if new is not None:
        return (
            f"{OLD}={old} has no effect: {NEW}={new} is its name of today and counts. {new}: {_meaning(new)}."
        )
    return (
        f"{OLD} is the old name of {NEW}: torch still reads it, and warns of it. {old}: {_meaning(old)}; by "
        f"default ({_DEFAULT}), which needs no variable, {_MEANS[_DEFAULT]}."
    )


def _meaning(value: str) -> str:
    return _MEANS.get(value, f"a value that torch does not know, which are {', '.join(_MEANS)}")
