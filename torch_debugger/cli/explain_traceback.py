"""torch-debugger explain-traceback [FILE or MESSAGE]: an error from elsewhere, as far as text can tell."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import BinaryIO

from rich.console import Console

from torch_debugger.runner.explanations import Explanation
from torch_debugger.source.pasted_tracebacks import read_crash, read_message
from torch_debugger.system.errors import UsageError

_HOW = "Paste the traceback here, then press Ctrl-D on a line of its own (on Windows Ctrl-Z and Enter).\n"

_CHUNK_BYTES, _KEPT_BYTES = 2**20, 2**23


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "text",
        metavar="FILE",
        nargs="*",
        help="a file with the text, or the message itself; - or nothing: stdin",
    )
    parser.add_argument("--json", action="store_true", help="the same for programs")


def run(arguments: argparse.Namespace) -> int:
    text = _text(arguments.text)
    crash = read_crash(text) or read_message(text)
    if crash is None:
        raise UsageError(
            "there is no traceback and no message of an error in this text. A traceback "
            "needs the lines from `Traceback (most recent call last):` "
            "to the exception, with the `File ..., line ...` lines between them."
        )
    explanation = Explanation(crash)
    if arguments.json:
        json.dump(explanation.report.to_json(), sys.stdout, indent=1)
        sys.stdout.write("\n")
    else:
        explanation.report.print(Console())
    return 0


def _text(words: list[str]) -> str:
    """Of a file, where there is one of that name; else the words are the message."""
    if words and (len(words) > 1 or (" " in words[0] and not os.path.exists(words[0]))):
        return " ".join(words)
    file = words[0] if words else "-"
    if file == "-":
        if sys.stdin.isatty():
            sys.stderr.write(_HOW)
        return _decoded(_end_of(sys.stdin.buffer))
    try:
        with open(file, "rb") as opened:
            return _decoded(_end_of(opened))
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror or error}.") from error


def _end_of(stream: BinaryIO) -> bytes:
    """All of it; of a very long log the last part."""
    kept = chunk = stream.read(_CHUNK_BYTES)
    while len(chunk) == _CHUNK_BYTES:  # less is the end; a terminal asked again would want a second Ctrl-D
        chunk = stream.read(_CHUNK_BYTES)
        kept = (kept + chunk)[-_KEPT_BYTES:]
    return kept


def _decoded(raw: bytes) -> str:
    wide = raw[:2] in (b"\xff\xfe", b"\xfe\xff")  # what `>` writes in PowerShell
    return raw.decode("utf-16" if wide else "utf-8-sig", errors="replace")
