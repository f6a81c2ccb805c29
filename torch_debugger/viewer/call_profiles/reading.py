"""A file of cProfile's read by a process of its own, and a sentence where that cannot be done."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from typing import Any

from torch_debugger.errors import UsageError
from torch_debugger.viewer.call_profiles import unmarshalling

ENDINGS = (".prof", ".pstats", ".cprof", ".profile")
_MOST_BYTES = 200_000_000
_PATIENCE_S = 20.0
_DICTIONARY = (b"{", b"\xfb")  # how marshal begins one: plain, or to be referred to
_TUPLE = (b"(", b")", b"\xa8", b"\xa9")
_TEXT = bytes(range(32, 127)) + b"\n\r\t"
_KINDS = {
    b"\x1f\x8b": "a gzip file",
    b"PK\x03\x04": "a zip archive, such as torch.save writes",
    b"\x80\x02": "a pickle",
    b"\x80\x03": "a pickle",
    b"\x80\x04": "a pickle",
    b"\x80\x05": "a pickle",
    b"\x7fELF": "a program",
    b"SQLite": "a database",
}
_EXPECTED = "a profile as cProfile writes it (a marshalled dictionary of functions) was expected"
_ANEW = "Make one with: python -m cProfile -o profile.prof train.py"


def is_call_profile(path: str) -> bool:
    """By its name; another file by its first bytes, a dictionary whose first key is a tuple: event files of
    TensorBoard may begin with the same byte."""
    if not os.path.isfile(path):
        return False
    begins = _beginning(path)
    return path.lower().endswith(ENDINGS) or (begins[:1] in _DICTIONARY and begins[1:2] in _TUPLE)


def read_call_profile(path: str) -> dict[str, Any]:
    """Functions, their numbers, and who called whom. Raises UsageError with what to do."""
    size = os.path.getsize(path)
    begins = _beginning(path)
    if not _looks_marshalled(begins):
        raise UsageError(f"{path} is no profile: {_EXPECTED}, and this {_begins_like(begins)}. {_ANEW}")
    if size > _MOST_BYTES:
        raise UsageError(
            f"{path} is {size / 1e6:.0f} MB large: profiles of up to {_MOST_BYTES / 1e6:.0f} MB are opened. "
            "Profile a part of the script, between enable() and disable() of a cProfile.Profile()."
        )
    told = _read_aside(path)
    if "profile" not in told:
        raise UsageError(_sentence(path, size, told))
    if not told["profile"]["functions"]:
        raise UsageError(
            f"{path} is a profile without a single function: nothing ran between its beginning and its end. "
            f"{_ANEW}"
        )
    profile: dict[str, Any] = told["profile"]
    return profile


def _beginning(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(64)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {os.strerror(error.errno or 0)}.") from error


def _looks_marshalled(begins: bytes) -> bool:
    """JSON begins with the same brace, but goes on with what marshal never writes."""
    return begins.startswith(_DICTIONARY) and begins[1:2] not in (b'"', b" ", b"\n", b"\r", b"\t", b"}", b"'")


def _begins_like(begins: bytes) -> str:
    if not begins:
        return "file is empty"
    for magic, kind in _KINDS.items():
        if begins.startswith(magic):
            return f"begins like {kind}"
    if begins.lstrip()[:1] in (b"{", b"["):
        return "begins like JSON"
    if not begins.strip(_TEXT):
        return "is text"
    return f"begins with the bytes {begins[:4].hex(' ')}"


def _read_aside(path: str) -> dict[str, Any]:
    command = [sys.executable, "-I", "-S", unmarshalling.__file__]
    with open(path, "rb") as file:
        try:
            done = subprocess.run(
                command, stdin=file, capture_output=True, timeout=_PATIENCE_S, check=False, cwd=os.sep
            )
        except subprocess.TimeoutExpired:
            return {"fault": "time"}
    if done.returncode != 0:
        return {"fault": "killed" if done.returncode < 0 else "failed"}
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _sentence(path: str, size: int, told: dict[str, Any]) -> str:
    version = f"Python {platform.python_version()}"
    fault, detail = told["fault"], told.get("detail", "")
    if fault == "cut":
        return (
            f"{path} ends in the middle: {_EXPECTED}, and its {size:,} bytes stop before the last function. "
            f"The program that wrote it was ended, or it was not copied whole. {_ANEW}"
        )
    if fault == "misfit":
        return f"{path} is no profile: {_EXPECTED}, and this holds {detail}. {_ANEW}"
    if fault == "unknown bytes":
        return (
            f"{path} begins like a profile, but {version} cannot read it ({detail}). It is damaged, or another "
            f"version of Python wrote it: open it with that one, or make it again with this. {_ANEW}"
        )
    return (
        f"{path} was not read: a process with limits on time and memory tried to, and was stopped by them or "
        f"crashed. No profile of {size:,} bytes does that: the file is damaged, or made to do harm. {_ANEW}"
    )
