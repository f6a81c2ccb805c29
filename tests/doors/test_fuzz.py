"""No exception, however odd, and no text, however broken, brings an exception of ours."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import torch_debugger
from tests.doors import odd_frames
from tests.doors.crashing import raised_by, shapes_that_do_not_fit
from tests.doors.odd_exceptions import ASKED, EXCEPTIONS
from tests.pasted.test_reading import GROUP, KEYS, WORKER
from tests.pasted.texts import COATS, LOG
from torch_debugger.checks.judge import Judge
from torch_debugger.integrations.concern import is_worth_a_comment
from torch_debugger.pasted.reading import read_crash

LONGEST = 200_000  # characters of an explanation; none needs a tenth of it
PAIRS = [
    *((name, odd_frames.plain) for name in EXCEPTIONS),
    *(("braces", frame) for frame in odd_frames.FRAMES),
    *random.Random(0).sample([(name, frame) for name in EXCEPTIONS for frame in odd_frames.FRAMES], 160),
]


@pytest.mark.parametrize(("name", "frame"), PAIRS, ids=lambda each: getattr(each, "__name__", str(each)))
def test_odd_exceptions_in_odd_frames(
    name: str, frame: Callable[[BaseException], None], capfd: pytest.CaptureFixture[str]
) -> None:
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


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_odd_exceptions_that_were_never_raised(name: str) -> None:
    assert len(str(torch_debugger.explain(EXCEPTIONS[name](), show=False))) < LONGEST


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_odd_exceptions_go_on_unchanged(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    error = EXCEPTIONS[name]()
    try:
        with torch_debugger.explaining():
            odd_frames.plain(error)
    except BaseException as caught:
        same = caught is error
    assert same
    told = capfd.readouterr().err
    assert "error: " in told
    assert "could not explain" not in told


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


@pytest.mark.parametrize("seed", range(300))
def test_broken_texts(seed: int) -> None:
    crash = read_crash(mutated(seed))
    if crash is None:
        return
    judge = Judge()
    judge.see(crash)
    assert judge.faults == []
    assert judge.findings
    assert len(str(torch_debugger.Explanation(crash))) < LONGEST


@pytest.mark.parametrize(
    "text",
    [
        HEADER * 50_000,
        "".join(f"[rank{rank}]: {HEADER}" for rank in range(40_000)),
        "\\" * 1_000_000 + "Traceback (most recent call last):\\n",
        HEADER + FRAME + " " * 1_900_000 + "x\nKeyError: 1",
        HEADER + f"{FRAME}    f()\n" * 60_000 + "KeyError: 1",
        HEADER + FRAME + "Error: " * 250_000,
        "\x1b]" * 900_000,
        "[1;" * 600_000,
        "File " * 400_000,
        '  File "' * 250_000,
        f"RuntimeError{' ' * 1_000_000}Traceback (most recent call last)",
        "--- Traceback (most recent call last) ---\n" * 40_000,
        "KeyError    Traceback (most recent call last)\n" * 40_000,
        "a.py:1: in f\n" * 100_000,
    ],
    ids=range(14),
)  # fmt: skip
def test_long_texts_are_read_in_a_moment(text: str) -> None:
    """Patterns that try everything would not come back from these."""
    read_crash(text)
