"""On a real terminal the script has the terminal to itself: prints, progress bars, prompts and Ctrl-C."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import QUICK, Write
from tests.cli.terminal import LINES, Terminal

STATUS = re.compile(
    r"torch-debugger: step [\d,]+ \| loss [\d.]+( \| [\d.e+]+ steps/s)? \| (no findings|1 error)"
)
BOTH = pytest.mark.parametrize("how", ["", "--live"], ids=["plain", "live"])


@pytest.fixture(autouse=True)
def the_terminal_decides_its_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS")


def run(how: str) -> Terminal:
    return Terminal([*QUICK, "run", "--no-log", *([how] if how else []), "train.py"])


def statuses(terminal: Terminal) -> list[str]:
    return [line for line in terminal.all_lines if "torch-debugger: step" in line]


TRAINS = """
    import sys, time, training
    def train(steps):
        for n in range(steps):
            training.step(0.25)
            time.sleep(0.01)
"""


def test_a_status_line_stands_on_a_line_of_its_own(write: Write) -> None:
    write(TRAINS + "    print('half a line, ', end='', flush=True)\n    train(50)\n    print('the other half')")
    with run("") as terminal:
        assert terminal.finish() == 0
        assert statuses(terminal)
        assert all(STATUS.fullmatch(line) for line in statuses(terminal))
        assert "half a line," in terminal.all_lines
        assert "the other half" in terminal.all_lines


def test_lines_at_the_start_of_a_line_leave_no_gaps(write: Write) -> None:
    write(TRAINS + "    print('begin')\n    train(50)\n    print('end')")
    with run("") as terminal:
        terminal.finish()
        lines = terminal.all_lines
        between = lines[lines.index("begin") + 1 : lines.index("end")]
        assert between and all(STATUS.fullmatch(line) for line in between)


@BOTH
def test_the_script_s_own_lines_arrive_whole_and_in_order(how: str, write: Write) -> None:
    write(TRAINS + "    for n in range(60):\n        print('line', n)\n        train(1)")
    with run(how) as terminal:
        assert terminal.finish() == 0
        printed = [line for line in terminal.all_lines if line.startswith("line ")]
        assert printed == [f"line {n}" for n in range(60)]


@BOTH
def test_a_progress_bar_goes_on_and_is_never_mixed_with_a_status(how: str, write: Write) -> None:
    write(
        TRAINS
        + "    from tqdm import tqdm\n"
        + "    for n in tqdm(range(100), mininterval=0.01, ncols=60):\n        train(1)\n"
    )
    with run(how) as terminal:
        assert terminal.finish() == 0
        bars = [line for line in terminal.all_lines if "%|" in line]
        assert bars[-1].startswith("100%|") and "100/100" in bars[-1]
        assert all(re.fullmatch(r" *\d+%\|.*\| \d+/100 \[.*\]", line) for line in bars)


@BOTH
def test_nothing_is_written_while_input_waits(how: str, write: Write) -> None:
    write(
        TRAINS + "    train(30)\n    name = input('Name the run: ')\n    train(30)\n    print('called', name)"
    )
    with run(how) as terminal:
        terminal.wait_for("Name the run:")
        terminal.stay(0.2)  # what was on its way when the prompt came
        before = terminal.raw
        terminal.stay(0.8)
        assert terminal.raw == before
        assert terminal.cursor_line == "Name the run:"
        terminal.type("betx\x7fter\n")
        terminal.wait_for("called better")
        assert terminal.finish() == 0
        assert "Name the run: better" in terminal.all_lines


@BOTH
def test_breakpoint_works_as_ever(how: str, write: Write) -> None:
    write(
        TRAINS
        + "    train(30)\n    answer = 41\n    breakpoint()\n    answer += 1\n    print('answer', answer)"
    )
    with run(how) as terminal:
        terminal.wait_for("(Pdb)")
        terminal.stay(0.2)
        before = terminal.raw
        terminal.stay(0.5)
        assert terminal.raw == before
        terminal.type("p answer + 59\n")
        terminal.wait_for("100")
        terminal.wait_at("(Pdb)")
        terminal.type("c\n")
        assert terminal.finish() == 0
        assert "answer 42" in terminal.all_lines


@BOTH
def test_a_finding_waits_until_the_prompt_is_answered(how: str, write: Write) -> None:
    write(TRAINS + "    training.step(200.0)\n    training.flush()\n    input('Go on? ')\n    train(30)")
    with run(how) as terminal:
        terminal.wait_for("Go on?")
        terminal.stay(0.6)
        assert terminal.cursor_line == "Go on?"
        announced_early = any("loss-too-large" in line for line in terminal.all_lines)
        terminal.type("\n")
        assert terminal.finish() == 0
        said = [
            line for line in terminal.all_lines if line.startswith("torch-debugger: error loss-too-large at")
        ]
        assert len(said) == 1
        assert not announced_early


@BOTH
def test_ctrl_c_stops_the_script_and_not_the_report(how: str, write: Write) -> None:
    write(TRAINS + "    print('training', flush=True)\n    train(10_000)")
    with run(how) as terminal:
        terminal.wait_for("training")
        terminal.wait_for("torch-debugger: step")
        terminal.type("\x03")
        terminal.wait_for("KeyboardInterrupt")
        terminal.type("\x03")  # an impatient user
        assert terminal.finish() == 130
        assert "KeyboardInterrupt" in terminal.all_lines
        assert any("train.py was stopped by signal 2 (SIGINT)" in line for line in terminal.all_lines)
        assert [line for line in terminal.all_lines if "torch_debugger" in line] == []  # no frame of ours


def test_ctrl_c_can_be_caught_by_the_script(write: Write) -> None:
    write(TRAINS + "    try:\n        train(10_000)\n    except KeyboardInterrupt:\n        print('saved')")
    with run("") as terminal:
        terminal.wait_for("torch-debugger: step")
        terminal.type("\x03")
        assert terminal.finish() == 0
        assert "saved" in "".join(terminal.all_lines)


def test_the_live_row_stays_at_the_bottom_and_is_gone_at_the_end(write: Write) -> None:
    write(TRAINS + "    for n in range(60):\n        print('line', n)\n        train(1)\n    input('end? ')")
    with run("--live") as terminal:
        terminal.wait_for("end?")
        assert STATUS.fullmatch(terminal.screen[-1].strip())
        assert terminal.cursor_line == terminal.screen[-2] == "end?"
        assert terminal.margins is not None
        terminal.type("\n")
        assert terminal.finish() == 0
        assert statuses(terminal) == []
        assert terminal.margins is None


def test_findings_scroll_above_the_live_row(write: Write) -> None:
    write(TRAINS + "    training.step(200.0)\n    training.flush()\n    train(80)\n    input('end? ')")
    with run("--live") as terminal:
        terminal.wait_for("end?")
        assert "1 error" in terminal.screen[-1]
        assert any(line.startswith("torch-debugger: error loss-too-large") for line in terminal.screen[:-1])
        terminal.type("\n")
        terminal.finish()


@pytest.mark.parametrize("lines", [12, 40])
def test_the_live_row_follows_the_terminal_s_size(lines: int, write: Write) -> None:
    write(TRAINS + "    for n in range(200):\n        print('line', n)\n        train(1)\n    input('end? ')")
    with run("--live") as terminal:
        terminal.wait_for("line 40")
        terminal.resize(lines)
        terminal.wait_for("end?")
        assert len(terminal.screen) == lines
        assert STATUS.fullmatch(terminal.screen[-1].strip())
        assert sum("torch-debugger" in line for line in terminal.screen) == 1
        terminal.type("\n")
        terminal.finish()
        assert terminal.margins is None


@pytest.mark.parametrize(
    "ending", ["sys.exit(3)", "1 / 0", "import os; os._exit(1)", "import os; os.kill(os.getpid(), 9)"]
)
def test_the_terminal_is_given_back_however_the_script_ends(ending: str, write: Write) -> None:
    write(TRAINS + f"    train(30)\n    {ending}")
    with run("--live") as terminal:
        assert terminal.finish() != 0
        assert terminal.margins is None
        assert statuses(terminal) == []


def test_ctrl_z_gives_the_whole_screen_to_the_shell(write: Write) -> None:
    write(TRAINS + "    train(500)\n    print('trained')")
    with Terminal(["bash", "--norc", "-i"]) as terminal:
        terminal.type(" ".join([*QUICK, "run", "--no-log", "--live", "train.py"]) + "\n")
        terminal.wait_for("torch-debugger: step", on_screen=True)
        terminal.type("\x1a")
        terminal.wait_for("Stopped")
        assert terminal.margins is None
        assert statuses(terminal) == []
        terminal.type("fg\n")
        terminal.wait_for("torch-debugger: step", on_screen=True)
        assert terminal.margins is not None
        terminal.wait_for("trained")
        terminal.type("exit\n")
        terminal.finish()
        assert terminal.margins is None


def test_live_without_a_terminal_is_plain(write: Write) -> None:
    write(TRAINS + "    train(50)")
    command = " ".join([*QUICK, "run", "--no-log", "--live", "train.py", "2>", "stderr.txt"])
    with Terminal(["sh", "-c", command], lines=LINES) as terminal:
        assert terminal.finish() == 0
    said = Path("stderr.txt").read_text(encoding="utf-8")
    assert "\x1b" not in said
    assert STATUS.search(said)
