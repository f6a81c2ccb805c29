"""Chains, groups, workers' tracebacks, messages of several lines, and files that are on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pasted.test_coats import crash_in
from tests.pasted.texts import PLAIN
from torch_debugger.source.pasted_tracebacks import read_crash
from torch_debugger.system.tracebacks import is_user_path, plain_path

CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n\n"
SECOND = """\
Traceback (most recent call last):
  File "/home/me/project/train.py", line 55, in run
    raise ValueError("batch failed") from error
ValueError: batch failed
"""


@pytest.mark.parametrize(("joint", "raised_from"), [(CAUSE, True), (CONTEXT, False)])
def test_a_chain(joint: str, raised_from: bool) -> None:
    crash = crash_in(PLAIN + joint + SECOND)
    assert (crash.kind, crash.message, crash.raised_from) == ("ValueError", "batch failed", raised_from)
    assert [(cause.kind, cause.place.line) for cause in crash.causes] == [("RuntimeError", 14)]


def test_two_tracebacks_that_are_no_chain() -> None:
    """The last one ended the program."""
    crash = crash_in(f"{PLAIN}\nretrying\n{SECOND}")
    assert (crash.kind, crash.causes) == ("ValueError", ())


GROUP = """\
  + Exception Group Traceback (most recent call last):
  |   File "/home/me/a.py", line 9, in <module>
  |     raise ExceptionGroup("several", errors)
  | ExceptionGroup: several (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/home/me/a.py", line 4, in load
    |     return table[key]
    |            ~~~~~^^^^^
    | KeyError: 'lr'
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "/home/me/a.py", line 7, in load
    |     return int(text)
    | ValueError: invalid literal for int() with base 10: 'x'
    +------------------------------------
"""


def test_a_group_is_told_by_its_first_part() -> None:
    crash = crash_in(GROUP)
    assert (crash.kind, crash.message, crash.place.line) == ("KeyError", "'lr'", 4)
    assert crash.attributes == {"key": "lr"}
    assert crash.frames[-1].failing == "table[key]"


WORKER = """\
Traceback (most recent call last):
  File "/home/me/train.py", line 12, in <module>
    for x in loader:
  File "/usr/lib/python3.11/site-packages/torch/utils/data/dataloader.py", line 630, in __next__
    data = self._next_data()
  File "/usr/lib/python3.11/site-packages/torch/_utils.py", line 722, in reraise
    raise exception
KeyError: Caught KeyError in DataLoader worker process 0.
Original Traceback (most recent call last):
  File "/usr/lib/python3.11/site-packages/torch/utils/data/_utils/worker.py", line 309, in _worker_loop
    data = fetcher.fetch(index)
  File "/home/me/data.py", line 8, in __getitem__
    return self.table[index]
KeyError: 17

"""


def test_a_workers_traceback_inside_the_message() -> None:
    crash = crash_in(WORKER)
    assert crash.message.startswith("Caught KeyError in DataLoader worker process 0.\nOriginal Traceback")
    assert crash.place.line == 12
    [cause] = crash.causes
    assert (cause.kind, cause.message, cause.place.file, cause.place.line) == (
        "KeyError",
        "17",
        "/home/me/data.py",
        8,
    )
    assert crash.raised_from


KEYS = """\
Traceback (most recent call last):
  File "eval.py", line 3, in <module>
    model.load_state_dict(state)
  File "/usr/lib/python3.11/site-packages/torch/nn/modules/module.py", line 2584, in load_state_dict
    raise RuntimeError(
RuntimeError: Error(s) in loading state_dict for Net:
\tMissing key(s) in state_dict: "fc1.weight", "fc1.bias".
\tUnexpected key(s) in state_dict: "module.fc1.weight".
$ python eval.py
"""


def test_a_message_of_several_lines() -> None:
    crash = crash_in(KEYS)
    assert crash.message.split("\n")[0] == "Error(s) in loading state_dict for Net:"
    assert crash.message.endswith('"module.fc1.weight".')


def test_a_qualified_name() -> None:
    crash = crash_in(SECOND.replace("ValueError: batch failed", "torch.OutOfMemoryError: CUDA out of memory."))
    assert (crash.kind, crash.qualified) == ("OutOfMemoryError", "torch.OutOfMemoryError")
    assert crash.bases == ("OutOfMemoryError", "RuntimeError", "Exception", "BaseException", "object")


@pytest.mark.parametrize(
    ("told", "carried"),
    [
        ("OSError: [Errno 98] Address already in use", {"errno": 98}),
        ("ModuleNotFoundError: No module named 'torchvison'", {"name": "torchvison"}),
        ("AttributeError: 'Net' object has no attribute 'fc9'", {"name": "fc9", "object": "Net"}),
        ("KeyError: 3", {"key": 3}),
    ],
)
def test_what_the_exception_would_carry(told: str, carried: dict[str, object]) -> None:
    assert crash_in(SECOND.replace("ValueError: batch failed", told)).attributes == carried


@pytest.mark.parametrize("ending", ["KeyboardInterrupt", "AssertionError", "queue.Empty", "MyProblem: of my own"])
def test_endings_of_all_kinds(ending: str) -> None:
    kind, _, message = ending.partition(": ")
    crash = crash_in(SECOND.replace("ValueError: batch failed", ending))
    assert (crash.qualified, crash.message) == (kind, message)


def test_a_recursion_cut_short() -> None:
    again = "  [Previous line repeated 993 more times]\n"
    crash = crash_in(SECOND.replace("ValueError: batch", f"{again}RecursionError: batch"))
    assert (crash.kind, len(crash.frames)) == ("RecursionError", 1)


@pytest.mark.parametrize(
    "text",
    ["", "\n\n", "no", "RuntimeError: mat1 and mat2", "Traceback", "{}", "\x00", "File", LONG := "x" * 10_000],
)
def test_no_traceback(text: str) -> None:
    assert read_crash(text) is None


def test_the_whole_statement_where_the_file_is_here(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text("def forward(x):\n    return layer(\n        x,\n    )\n")
    text = PLAIN.replace("/home/me/project/net.py", str(file)).replace("line 14, in", "line 2, in")
    text = text.replace("x = self.fc1(x)", "return layer(")
    crash = crash_in(text)
    own = next(frame for frame in crash.frames if frame.file == str(file))
    assert (own.code, own.code_line) == ("return layer(\nx,\n)", 2)


def test_a_file_here_that_says_something_else_is_not_believed(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text("def forward(x):\n    return another(\n        x,\n    )\n")
    text = PLAIN.replace("/home/me/project/net.py", str(file)).replace("line 14, in", "line 2, in")
    assert crash_in(text).place.code == "x = self.fc1(x)"


@pytest.mark.parametrize(
    ("path", "mine"),
    [
        ("train.py", True),
        ("/home/me/lib/train.py", True),
        ("/home/me/torch/train.py", True),
        ("/home/me/my_torch/nn/blocks.py", True),
        ("<stdin>", True),
        ("<ipython-input-3-abc>", True),
        ("/tmp/ipykernel_12/345.py", True),
        ("C:\\Users\\Me\\train.py", True),
        ("/usr/lib/python3.10/runpy.py", False),
        ("/usr/local/lib/python3.12/dist-packages/numpy/core.py", False),
        ("/opt/conda/lib/python3.9/site-packages/torch/nn/functional.py", False),
        ("/home/me/.pyenv/versions/3.11.7/lib/python3.11/threading.py", False),
        ("C:\\Users\\Me\\anaconda3\\Lib\\site-packages\\torch\\nn\\functional.py", False),
        ("C:\\Python311\\Lib\\runpy.py", False),
        ("/home/me/pytorch/torch/nn/modules/linear.py", False),
        ("<frozen runpy>", False),
    ],
)
def test_whose_file_it_is(path: str, mine: bool) -> None:
    assert is_user_path(plain_path(path)) == mine
