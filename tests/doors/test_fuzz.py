"""No exception, however odd, and no text, however broken, brings an exception of ours."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable, Iterable
from typing import TypeVar

import pytest

import torch_debugger
from tests.doors import odd_frames
from tests.doors.crashing import raised_by, shapes_that_do_not_fit
from tests.doors.odd_exceptions import ASKED, EXCEPTIONS
from tests.pasted.test_reading import GROUP, KEYS, WORKER
from tests.pasted.texts import COATS, LOG
from torch_debugger.checks.judge import Judge
from torch_debugger.runner.explanations import is_worth_a_comment
from torch_debugger.source.pasted_tracebacks import read_crash

LONGEST = 200_000  # characters of an explanation; none needs a tenth of it
PAIRS = [
    *((name, odd_frames.plain) for name in EXCEPTIONS),
    *(("braces", frame) for frame in odd_frames.FRAMES),
    *random.Random(0).sample([(name, frame) for name in EXCEPTIONS for frame in odd_frames.FRAMES], 50),
]
Case = TypeVar("Case")


def require_of_all(cases: Iterable[tuple[str, Case]], look: Callable[[Case], None]) -> None:
    """Looks at all of them, and names every one that brought an exception or broke a promise."""
    complaints, looked_at = [], 0
    for name, case in cases:
        looked_at += 1
        try:
            look(case)
        except KeyboardInterrupt:
            raise
        except BaseException:
            complaints.append(f"{name}:\n{traceback.format_exc(limit=-4)}")
    assert looked_at
    assert not complaints, "\n".join(complaints)


def test_odd_exceptions_in_odd_frames(capfd: pytest.CaptureFixture[str]) -> None:
    def look(pair: tuple[str, Callable[[BaseException], None]]) -> None:
        name, frame = pair
        error = raised_by(lambda: frame(EXCEPTIONS[name]()))
        ASKED.clear()
        told = torch_debugger.explain(error, show=False)
        assert told.finding is not None
        assert told.report.result.faults == ()
        assert len(str(told)) < LONGEST
        assert repr(told).startswith("<Explanation ")
        is_worth_a_comment(told.crash, told.findings)
        assert set(ASKED) <= {"str", "repr"}  # of what the exception itself carries
        assert capfd.readouterr() == ("", "")

    require_of_all(((f"{name} in {frame.__name__}", (name, frame)) for name, frame in PAIRS), look)


def test_odd_exceptions_that_were_never_raised() -> None:
    def look(made: Callable[[], BaseException]) -> None:
        assert len(str(torch_debugger.explain(made(), show=False))) < LONGEST

    require_of_all(EXCEPTIONS.items(), look)


def test_odd_exceptions_go_on_unchanged(capfd: pytest.CaptureFixture[str]) -> None:
    def look(made: Callable[[], BaseException]) -> None:
        error = made()
        try:
            with torch_debugger.explaining():
                odd_frames.plain(error)
        except BaseException as caught:
            same = caught is error
        assert same
        told = capfd.readouterr().err
        assert "error: " in told
        assert "could not explain" not in told

    require_of_all(EXCEPTIONS.items(), look)


def test_a_known_crash_among_touchy_objects() -> None:
    """The fuzz looks at something: what is known is still explained with all of that in reach."""

    def work() -> None:
        held = [odd_frames.Touchy()]  # noqa: F841
        shapes_that_do_not_fit()

    told = torch_debugger.explain(raised_by(work), show=False)
    assert told.finding is not None
    assert told.finding.name == "shape-mismatch"


TEXTS = [*COATS.values(), GROUP, KEYS, WORKER, LOG]
HEADER, FRAME = "Traceback (most recent call last):\n", '  File "a.py", line 1, in f\n'
NOISE = [
    "\n", " ", "\t", '"', "File ", '  File "', "line ", HEADER, "\x1b[31m", "|", "\\n", "> ", "RuntimeError: ",
    "----> 3 ", "Cell In[1], line 2", "9" * 40, "\x00", "\ud800", "^^^^", "{", ": ", "+ ",
]  # fmt: skip


def mutated(seed: int) -> str:
    """Cut, doubled, shuffled and sprinkled: what copying and logging do, and worse."""
    draw = random.Random(seed)
    text = draw.choice(TEXTS)
    for _ in range(draw.randint(1, 12)):
        start, end = sorted(draw.randint(0, len(text)) for _ in range(2))
        end = min(end, start + draw.choice([1, 5, 80, 2000]))
        piece = draw.choice(["", text[start:end] * 2, draw.choice(NOISE), draw.choice(TEXTS)[start:end]])
        text = text[:start] + piece + text[end:]
    if draw.random() < 0.2:
        lines = text.split("\n")
        draw.shuffle(lines)
        text = "\n".join(lines)
    return text


def test_broken_texts() -> None:
    """Of every one that still holds a traceback something is said."""
    read: list[int] = []

    def look(seed: int) -> None:
        crash = read_crash(mutated(seed))
        if crash is None:
            return
        read.append(seed)
        judge = Judge()
        judge.see(crash)
        assert judge.faults == []
        assert judge.findings
        assert len(str(torch_debugger.Explanation(crash))) < LONGEST

    require_of_all(((f"mutated({seed})", seed) for seed in range(300)), look)
    assert len(read) > 100  # else the mutations leave nothing to read


LONG = [
    HEADER * 25_000,
    "".join(f"[rank{rank}]: {HEADER}" for rank in range(20_000)),
    "\\" * 500_000 + "Traceback (most recent call last):\\n",
    HEADER + FRAME + " " * 900_000 + "x\nKeyError: 1",
    HEADER + f"{FRAME}    f()\n" * 30_000 + "KeyError: 1",
    HEADER + FRAME + "Error: " * 120_000,
    "\x1b]" * 450_000,
    "[1;" * 300_000,
    "File " * 200_000,
    '  File "' * 120_000,
    f"RuntimeError{' ' * 500_000}Traceback (most recent call last)",
    "--- Traceback (most recent call last) ---\n" * 20_000,
    "KeyError    Traceback (most recent call last)\n" * 20_000,
    "a.py:1: in f\n" * 50_000,
]


def test_long_texts_are_read_in_a_moment() -> None:
    """Patterns that try everything would not come back from these."""

    def look(text: str) -> None:
        read_crash(text)

    require_of_all(((repr(text[:60]), text) for text in LONG), look)
