"""On a real terminal the script has the terminal to itself: prints, progress bars, prompts and Ctrl-C.

The scripts wait for files that the test makes when it has seen what it waits for, so that nothing depends on
how fast either of them is. Plain status lines are tested with the real command, the live row in forks.
"""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from tests.cli.conftest import QUICK, Write
from tests.cli.terminal import LINES, Terminal

STATUS = re.compile(r"torch-debugger: step [\d,]+ \| loss [\d.]+( \| [\d.e+]+ steps/s)? \| (no findings|1 error)")
BOTH = pytest.mark.parametrize("how", ["", "--live"], ids=["plain", "live"])


@pytest.fixture(autouse=True)
def the_terminal_decides_its_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS")


def run(how: str) -> Terminal:
    return Terminal([*QUICK, "run", "--no-log", *([how] if how else []), "train.py"], forked=how == "--live")


def statuses(terminal: Terminal) -> list[str]:
    return [line for line in terminal.all_lines if "torch-debugger: step" in line]


def wait_for_step(terminal: Terminal, step: int) -> None:
    """Until the whole of its status is to be seen."""

    def is_shown() -> bool:
        shown = [line.strip() for line in statuses(terminal) if f"step {step} |" in line]
        return any(STATUS.fullmatch(line) for line in shown)

    terminal.wait_until(is_shown, f"the status of step {step}")


def wait_for_file(terminal: Terminal, name: str) -> None:
    terminal.wait_until(Path(name).exists, name)


TRAINS = """
    import sys, threading, time, training
    def train(steps):
        for n in range(steps):
            training.step(0.25)
"""

TALKS = """
    print("half a line, ", end="", flush=True)
    train(5)
    training.wait_for("seen 5")
    print("the other half")
    print("begin")
    train(5)
    training.wait_for("seen 10")
    print("end")
    for n in range(60):
        print("line", n)
        train(1)
    from tqdm import tqdm
    for n in tqdm(range(100), mininterval=0.01, ncols=60):
        train(1)
        if n == 49:
            training.wait_for("seen 120")
"""


@BOTH
def test_what_the_script_writes_stays_whole_and_so_does_what_we_write(how: str, write: Write) -> None:
    write(TRAINS + TALKS)
    with run(how) as terminal:
        for step in (5, 10, 120):
            wait_for_step(terminal, step)
            if how == "--live":
                assert STATUS.fullmatch(terminal.screen[-1].strip())
                assert terminal.margins is not None
            Path(f"seen {step}").touch()
        assert terminal.finish() == 0
        lines = terminal.all_lines
        assert terminal.margins is None
    assert [line for line in lines if line.startswith("line ")] == [f"line {n}" for n in range(60)]
    bars = [line for line in lines if "%|" in line]
    assert bars[-1].startswith("100%|") and "100/100" in bars[-1]
    assert all(re.fullmatch(r" *\d+%\|.*\| \d+/100 \[.*\]", line) for line in bars)
    if how == "--live":
        assert "half a line, the other half" in lines
        assert statuses(terminal) == []  # gone at the end
        return
    # A status stands on a line of its own, and leaves no gap where the script's own line was at its end.
    assert statuses(terminal) and all(STATUS.fullmatch(line) for line in statuses(terminal))
    assert "half a line," in lines and "the other half" in lines
    between = lines[lines.index("begin") + 1 : lines.index("end")]
    assert between and all(STATUS.fullmatch(line) for line in between)


# Nothing is due any more when a prompt comes; what moves the run meanwhile begins when the prompt is there.
ASKS = """
    def go_on(steps, done, *losses):
        while not training.session.board.at_prompt:
            time.sleep(0.01)
        for loss in losses:
            training.step(loss)
            training.flush()
            training.wait_for_the_judge()
        for n in range(steps):
            train(1)
            time.sleep(0.05)
        open(done, "w").close()
    print(*range(60), sep="\\n")
    train(5)
    training.wait_for("seen 5")
    threading.Thread(target=go_on, args=(10, "moved", 200.0)).start()
    name = input("Name the run: ")
    print("called", name)
    training.wait_for("seen 16")
    threading.Thread(target=go_on, args=(10, "moved again")).start()
    answer = 41
    breakpoint()
    answer += 1
    print("answer", answer)
"""


@BOTH
def test_nothing_is_written_while_a_prompt_waits(how: str, write: Write) -> None:
    """Neither a status nor a finding, at input() or in pdb: it comes when the user has answered."""
    write(TRAINS + ASKS)
    with run(how) as terminal:
        wait_for_step(terminal, 5)
        Path("seen 5").touch()
        terminal.wait_at("Name the run:")
        before = terminal.raw
        wait_for_file(terminal, "moved")  # by now the parent has found an error, and eleven steps were made
        terminal.stay(0.5)
        assert terminal.raw == before
        if how == "--live":
            assert STATUS.fullmatch(terminal.screen[-1].strip())
            assert terminal.cursor_line == terminal.screen[-2]
        terminal.type("betx\x7fter\n")
        terminal.wait_for("called better")
        wait_for_step(terminal, 16)
        assert "Name the run: better" in terminal.all_lines
        if how == "--live":
            assert "1 error" in terminal.screen[-1]
            assert any(line.startswith("torch-debugger: error loss-too-large") for line in terminal.screen[:-1])
        Path("seen 16").touch()
        terminal.wait_at("(Pdb)")
        before = terminal.raw
        wait_for_file(terminal, "moved again")
        terminal.stay(0.5)
        assert terminal.raw == before
        terminal.type("p answer + 59\n")
        terminal.wait_for("100")
        terminal.wait_at("(Pdb)")
        terminal.type("c\n")
        assert terminal.finish() == 0
        assert "answer 42" in terminal.all_lines
        said = [line for line in terminal.all_lines if line.startswith("torch-debugger: error loss-too-large at")]
        assert len(said) == 1


TRAINS_FOR_EVER = """
    def train_for_ever():
        while True:
            train(1)
            time.sleep(0.01)
    try:
        train_for_ever()
    except KeyboardInterrupt:
        print("saved", flush=True)
    train_for_ever()
"""


@BOTH
def test_ctrl_c_is_the_script_s_to_catch_and_does_not_stop_the_report(how: str, write: Write) -> None:
    write(TRAINS + TRAINS_FOR_EVER)
    with run(how) as terminal:
        terminal.wait_for("torch-debugger: step")
        terminal.type("\x03")
        terminal.wait_for("saved")
        terminal.type("\x03")
        terminal.wait_for("KeyboardInterrupt")
        terminal.type("\x03")  # an impatient user
        assert terminal.finish() == -signal.SIGINT
        assert "KeyboardInterrupt" in terminal.all_lines
        assert any("train.py was stopped by signal 2 (SIGINT)" in line for line in terminal.all_lines)
        assert [line for line in terminal.all_lines if "torch_debugger" in line] == []  # no frame of ours


@pytest.mark.parametrize("lines", [12, 40])
def test_the_live_row_follows_the_terminal_s_size(lines: int, write: Write) -> None:
    write(
        TRAINS
        + "    for n in range(41):\n        print('line', n, flush=True)\n        train(1)\n"
        + "    training.wait_for('resized')\n    train(1)\n    training.wait_for('seen')"
    )
    with run("--live") as terminal:
        wait_for_step(terminal, 41)
        terminal.resize(lines)
        Path("resized").touch()

        def has_followed() -> bool:
            shown = ["torch-debugger" in line for line in terminal.screen]
            return sum(shown) == 1 and STATUS.fullmatch(terminal.screen[-1].strip()) is not None

        terminal.wait_until(has_followed, "one row at the bottom")
        assert len(terminal.screen) == lines
        Path("seen").touch()
        assert terminal.finish() == 0
        assert terminal.margins is None


@pytest.mark.parametrize(
    "ending", ["sys.exit(3)", "1 / 0", "import os; os._exit(1)", "import os; os.kill(os.getpid(), 9)"]
)
def test_the_terminal_is_given_back_however_the_script_ends(ending: str, write: Write) -> None:
    write(TRAINS + f"    train(30)\n    training.wait_for('seen')\n    {ending}")
    with run("--live") as terminal:
        wait_for_step(terminal, 30)
        assert terminal.margins is not None
        Path("seen").touch()
        assert terminal.finish() != 0
        assert terminal.margins is None
        assert statuses(terminal) == []


TRAINS_UNTIL_SEEN = """
    import os
    while not os.path.exists("seen"):
        train(1)
        time.sleep(0.01)
    print("trained")
"""


def test_ctrl_z_gives_the_whole_screen_to_the_shell(write: Write) -> None:
    write(TRAINS + TRAINS_UNTIL_SEEN)
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
        Path("seen").touch()
        terminal.wait_for("trained")
        terminal.type("exit\n")
        terminal.finish()
        assert terminal.margins is None


def test_live_without_a_terminal_is_plain(write: Write) -> None:
    write(TRAINS + "    train(50)\n    while 'step 50' not in open('stderr.txt').read():\n        time.sleep(0.05)")
    command = " ".join([*QUICK, "run", "--no-log", "--live", "train.py", "2>", "stderr.txt"])
    with Terminal(["sh", "-c", command], lines=LINES) as terminal:
        assert terminal.finish() == 0
    said = Path("stderr.txt").read_text(encoding="utf-8")
    assert "\x1b" not in said
    assert STATUS.search(said)
