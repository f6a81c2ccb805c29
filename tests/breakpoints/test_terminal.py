"""Breakpoints on a real terminal, under `torch-debugger run` and without it.

One test starts real interpreters; the others are forks of a process that has torch imported.
"""

from __future__ import annotations

import functools
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests import preloaded
from tests.cli.terminal import Terminal

REAL = [sys.executable, "-m", "torch_debugger", "run", "--no-log"]
FORKED = [sys.executable, str(Path(__file__).with_name("forked.py")), "run", "--no-log"]
HOWS = pytest.mark.parametrize("how", [[], ["--live"], ["--in-process"]], ids=["plain", "live", "in-process"])

TRAINS = """
    import hashlib, torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1 = nn.Linear(4, 8)
            self.fc2 = nn.Linear(8, 1)

        def forward(self, x):
            hidden = self.fc1(x).relu()
            noise = torch.randn(1)
            return self.fc2(hidden) + noise

    def train(steps):
        for number in range(steps):
            loss = net(torch.rand(8, 4)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    train(6)
    weights = b"".join(p.detach().numpy().tobytes() for p in net.parameters())
    print("weights", hashlib.sha256(weights).hexdigest()[:16], torch.rand(1).item())
"""


@pytest.fixture(autouse=True)
def script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("PYTHONBREAKPOINT", raising=False)
    monkeypatch.chdir(tmp_path)
    return write(TRAINS)


def write(source: str) -> Path:
    path = Path("train.py")
    path.write_text(textwrap.dedent(source), encoding="utf-8")
    return path


def run(*words: str, real: bool = False) -> Terminal:
    return Terminal([*(REAL if real else FORKED), *words, "train.py"], lines=60, forked=not real)


def weights(terminal: Terminal) -> str:
    (line,) = [line for line in terminal.all_lines if line.startswith("weights")]
    return line


@functools.cache
def undisturbed() -> str:
    """What TRAINS comes to under plain python."""
    command = [sys.executable, "-c", textwrap.dedent(TRAINS)]
    done = preloaded.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@HOWS
def test_the_prompt_works_and_c_goes_on_as_if_nothing_had_been(how: list[str]) -> None:
    breaks = ("--break", "numel(output) > 0 @ net", "--break", "step == 3")
    with run(*how, *breaks, real=not how) as terminal:
        terminal.wait_at("(Pdb)")
        lines = terminal.all_lines
        assert "`numel(output) > 0 @ net` holds at step 1 in `net` (train.py:14" in "".join(lines)
        assert "-> return self.fc2(hidden) + noise" in lines
        terminal.stay(0.6)  # nothing is written over a prompt
        assert terminal.cursor_line == "(Pdb)"
        assert terminal.all_lines == lines
        for command, answer in [
            ("p output.shape, step, type(module).__name__", "(torch.Size([8, 1]), 1, 'Net')"),
            ("describe hidden * 0", "  hidden * 0: float32 [8, 8] cpu (requires grad)  min 0  max 0"),
            ("tensors", "  noise: float32 [1] cpu"),
            ("describe step", "  step holds no tensor: it is of type int."),
            ("describe nothing", "*** NameError: name 'nothing' is not defined"),
            ("u", "-> loss = net(torch.rand(8, 4)).pow(2).mean()"),
        ]:
            terminal.type(f"{command}\n")
            terminal.wait_for(answer)
            terminal.wait_at("(Pdb)")
        terminal.type("off\n")
        terminal.wait_for("`step == 3` holds at step 3")
        terminal.wait_at("(Pdb)")
        terminal.type("c\n")
        assert terminal.finish() == 0
        assert weights(terminal) == undisturbed()
        assert not any("torch_debugger" in line for line in terminal.all_lines)


def test_stepping_goes_through_the_user_s_lines() -> None:
    with run("--break", "step == 2 @ fc1") as terminal:
        terminal.wait_at("(Pdb)")
        assert "-> hidden = self.fc1(x).relu()" in terminal.all_lines
        for command, line in [
            ("n", "-> noise = torch.randn(1)"),
            ("n", "-> return self.fc2(hidden) + noise"),
            ("r", "--Return--"),
            ("n", "-> optimizer.zero_grad()"),
        ]:
            terminal.type(f"{command}\n")
            terminal.wait_for(line)
            terminal.wait_at("(Pdb)")
        terminal.type("c\n")
        assert terminal.finish() == 0
        assert weights(terminal) == undisturbed()


@pytest.mark.parametrize(
    ("how", "word", "condition"),
    [
        ([], "q", "numel(output) > 0 @ net"),
        ([], "exit", "norm(grad) >= 0"),
        ([], "\x04", "loss >= 0"),
        (["--live"], "q", "norm(grad) >= 0"),
        (["--in-process"], "q", "numel(input) > 0 @ fc2"),
    ],
    ids=["forward", "backward", "ctrl-d", "live", "in-process"],
)
def test_quitting_ends_the_script_with_1_and_one_sentence(how: list[str], word: str, condition: str) -> None:
    with run(*how, "--break", condition) as terminal:
        terminal.wait_at("(Pdb)")
        terminal.type(word if word == "\x04" else f"{word}\n")
        assert terminal.finish() == 1
        lines = terminal.all_lines
        assert sum("torch-debugger: quit at the prompt, train.py:" in line for line in lines) == 1
        assert not any("Traceback" in line or "BdbQuit" in line for line in lines)
        assert any("train.py was stopped with exit code 1" in line for line in lines)
        assert terminal.margins is None


@pytest.mark.parametrize("how", [[], ["--live"]], ids=["plain", "live"])
def test_ctrl_c_clears_the_line_at_the_prompt_and_ends_the_script_behind_it(how: list[str]) -> None:
    write(TRAINS.replace("train(6)", "import time; train(1); print('asleep', flush=True); time.sleep(600)"))
    with run(*how, "--break", "step == 1") as terminal:
        terminal.wait_at("(Pdb)")
        terminal.type("\x03")
        terminal.wait_for("--KeyboardInterrupt--")
        terminal.wait_at("(Pdb)")
        terminal.type("c\n")
        terminal.wait_for("asleep")
        terminal.type("\x03")
        assert terminal.finish() == -signal.SIGINT
        assert not any("torch_debugger" in line for line in terminal.all_lines)


CRASHES = TRAINS.replace("nn.Linear(8, 1)", "nn.Linear(9, 1)")


@HOWS
def test_the_post_mortem_comes_after_the_explanation_and_the_traceback(how: list[str]) -> None:
    write(CRASHES)
    with run(*how, "--pdb") as terminal:
        terminal.wait_at("(Pdb)")
        lines = terminal.all_lines
        whole = "".join(lines)  # a long path goes on in the next line
        parts = (
            "error: shape-mismatch",
            "Traceback (most recent call last)",
            "post-mortem of the crash",
            "train.py(14)",
        )
        assert [part for part in parts if part not in whole] == []
        order = [whole.index(part) for part in parts]
        assert order == sorted(order)
        assert "-> return self.fc2(hidden) + noise" in lines
        terminal.type("tensors\n")
        terminal.wait_for("  hidden: float32 [8, 8] cpu")
        terminal.wait_at("(Pdb)")
        terminal.type("q\n")
        assert terminal.finish() == 1
        assert any("train.py crashed with exit code 1" in line for line in terminal.all_lines)
        assert not any("torch_debugger" in line for line in terminal.all_lines)


def test_a_script_that_ends_well_has_no_post_mortem() -> None:
    with run("--pdb") as terminal:
        assert terminal.finish() == 0
        assert not any("Pdb" in line for line in terminal.all_lines)


def test_no_post_mortem_without_a_terminal() -> None:
    write(CRASHES)
    command = [*REAL, "--quiet", "--pdb", "train.py"]
    done = preloaded.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "torch-debugger: --pdb needs a terminal, and stdin or stdout is none" in done.stderr


def test_from_the_script_itself() -> None:
    write(TRAINS.replace("train(6)", "import torch_debugger; torch_debugger.break_when('step == 2'); train(6)"))
    with Terminal([sys.executable, "train.py"], forked=True) as terminal:
        terminal.wait_at("(Pdb)")
        terminal.type("c\n")
        assert terminal.finish() == 0
        assert weights(terminal) == undisturbed()


def test_a_bad_condition_is_refused_before_the_script_starts() -> None:
    with run("--break", "nam(output)") as terminal:
        assert terminal.finish() == 2
        shown = [line for line in terminal.all_lines if line]
        assert shown == [
            "torch-debugger: There is no function `nam`; did you mean `nan`?",
            "  nam(output)",
            "  ^^^",
        ]
