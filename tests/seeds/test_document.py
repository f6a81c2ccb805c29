"""What docs/seeds.md names exists: verbs with their options, calls with their arguments, programs."""

from __future__ import annotations

import argparse
import inspect
import re
import shlex
from functools import reduce
from typing import Any

import pytest

import torch_debugger
from tests.house.rooms import REPOSITORY
from torch_debugger.cli import VERBS, parse

DOCUMENT = REPOSITORY / "docs" / "seeds.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")
SPANS = re.findall(r"`([^`]+)`", TEXT)
COMMAND = re.compile(r"(?:torchrun .* -m torch_debugger|torch-debugger) (.+)")
CALL = re.compile(r"torch_debugger((?:\.\w+)+)")
KEYWORDS = re.compile(r"\b(\w+)=")


def commands() -> list[list[str]]:
    return [shlex.split(found[1]) for span in SPANS if (found := COMMAND.fullmatch(span))]


def refused(words: list[str]) -> bool:
    if words[0] not in VERBS:
        return True
    try:
        parse(words)
    except (SystemExit, argparse.ArgumentError):
        return True
    return False


def test_every_command_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    shown = [words for words in commands() if len(words) > 1 or words[0] == "demo"]
    assert len(shown) > 20
    assert not [words for words in shown if refused(words) or _has_foreign_options(words)]


def _has_foreign_options(words: list[str]) -> bool:
    """What stands behind the script is the script's, and would be taken whatever it is."""
    scripts = [number for number, word in enumerate(words) if word.endswith(".py")]
    return any(word.startswith("--") for word in words[scripts[0] :]) if scripts else False


def test_what_is_no_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(["watch", "train.py"]) and refused(["run", "--look", "train.py"]) and not refused(["demo"])
    assert _has_foreign_options(["run", "train.py", "--look"])


def test_every_call_exists() -> None:
    shown = [(span, found[1]) for span in SPANS for found in CALL.finditer(span)]
    assert len(shown) > 25
    for span, path in shown:
        named: Any = reduce(getattr, path.strip(".").split("."), torch_debugger)
        inside = re.fullmatch(rf"torch_debugger{re.escape(path)}\((.*)\)", span)
        for keyword in KEYWORDS.findall(inside[1]) if inside else ():
            assert keyword in inspect.signature(named).parameters, span


def test_every_file_it_points_to_is_there() -> None:
    targets = [target.split("#")[0] for target in re.findall(r"\]\(([^)]+)\)", TEXT)]
    assert len(targets) > 40
    assert not [target for target in targets if not (DOCUMENT.parent / target).exists()]
