"""torch-debugger gradcheck FILE[:NAME]: every custom Function of a file, found, fed and judged."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Write, debugger
from torch_debugger.cli import main

pytestmark = pytest.mark.usefixtures("with_torch")

KERNELS = """
import torch
from torch.autograd import Function
print("imported as", __name__)

class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3
    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0] ** 2

class Linear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return x @ weight.t() + bias
    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad @ weight, grad.t() @ x, grad.sum(0)

class Affine(Function):
    @staticmethod
    def forward(ctx, x, gamma, beta, eps=1e-5):
        ctx.save_for_backward(x, gamma)
        return x * gamma + beta
    @staticmethod
    def backward(ctx, grad):
        x, gamma = ctx.saved_tensors
        return grad * gamma, (grad * x).sum(0), grad.sum(0), None

class Log(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.log()
    @staticmethod
    def backward(ctx, grad):
        return grad / ctx.saved_tensors[0]

class Quantize(Function):
    @staticmethod
    def forward(ctx, x, bits: int):
        return x.round()
    @staticmethod
    def backward(ctx, grad):
        return grad, None

class Modern(Function):
    @staticmethod
    def forward(x):
        return x.sin()
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0].cos()

class Picky(Function):
    @staticmethod
    def forward(ctx, table, settings):
        return table * settings["times"]
    @staticmethod
    def backward(ctx, grad):
        return grad, None

if __name__ == "__main__":
    raise RuntimeError("only a script may do this")
"""


@pytest.fixture
def kernels(write: Write) -> Path:
    return write(KERNELS, "kernels.py")


@pytest.fixture
def check_here(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., int]]:
    """The same without a new process; what the imports leave behind goes with the test."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield lambda *words: main(["gradcheck", *words])
    for name in ("kernels", "constants", "empty", "broken", "exits"):
        sys.modules.pop(name, None)


def test_every_function_of_a_file(kernels: Path) -> None:
    done = debugger("gradcheck", "kernels.py")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("imported as kernels\n")
    said = " ".join(done.stdout.split())
    assert "`Cube.apply`: the gradients of `x` are wrong." in said
    assert "backward gives 0.333333 times the right gradient of `x`" in said
    assert "at kernels.py:6, tried with x [4, 5]" in said
    assert "`Linear.apply`: the gradients are right" in said
    assert "tried with x [4, 5], weight [3, 5], bias [3]" in said
    assert "tried with x [4, 5], gamma [5], beta [5]" in said
    assert "`Log.apply`: the gradients are right" in said
    assert "`Modern.apply`: the gradients are right" in said
    assert "A straight-through or surrogate gradient is like this on purpose" in said
    assert "`Picky.apply`: not checked. No inputs that were tried fit its forward." in said
    assert "torch-debugger gradcheck kernels.py:Picky --input 4,5 --input 4,5" in said
    assert done.stdout.endswith(
        "7 custom Functions: 4 right, 1 other than its forward, perhaps on purpose, 1 wrong, 1 not checked.\n"
    )
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["kernels.py:Linear"], 0),
        (["kernels.py:Quantize"], 0),
        (["kernels.py:Cube"], 1),
        (["kernels.py:Picky"], 2),
        (["kernels.py:Cube", "--second-order"], 0),
        (["kernels.py:Linear", "--input", "2,3", "--input", "4,3", "--input", "4,"], 0),
        (["kernels.py:Linear", "--input", "2,3", "--input", "4,5", "--input", "0.5"], 2),
        (["kernels.py:Picky", "--input", "2,3", "--input", "none"], 2),
    ],
    ids=str,
)
def test_exit_codes(kernels: Path, words: list[str], code: int, check_here: Callable[..., int]) -> None:
    assert check_here(*words) == code


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["absent.py"], "There is no file absent.py"),
        (["kernels.py:Absent"], "kernels.py defines no autograd Function Absent. It defines: Cube, Linear"),
        (["kernels.py", "--input", "4,5"], "--input is for one Function: name it, as in kernels.py:Cube."),
        (["kernels.py:Cube", "--input", "4,x"], "--input takes a shape such as 4,5"),
        (["kernels.py:Cube", "--input", "0,3"], "--input takes a shape such as 4,5"),
        (["empty.py"], "empty.py defines no autograd Function"),
        (["broken.py"], "broken.py cannot be imported: NameError: name 'nothing' is not defined at line 1."),
        (["exits.py"], 'Put what it runs under `if __name__ == "__main__":`'),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_asked(
    kernels: Path,
    write: Write,
    words: list[str],
    complaint: str,
    check_here: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("x = 1\n", "empty.py")
    write("nothing\n", "broken.py")
    write("import sys\nsys.exit(0)\n", "exits.py")
    assert check_here(*words) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert "Traceback" not in said


def test_neighbours_of_the_file_can_be_imported(write: Write, check_here: Callable[..., int]) -> None:
    write("FACTOR = 3\n", "package/constants.py")
    write("from constants import FACTOR\n" + KERNELS, "package/kernels.py")
    assert check_here("package/kernels.py:Linear") == 0
