"""torch-debugger explain-traceback: a file or stdin, words or JSON, without torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from tests import preloaded
from tests.cli.conftest import DEBUGGER, LIMIT_S
from tests.pasted.texts import COATS, PLAIN

Done = subprocess.CompletedProcess[str]


def explain(*words: str, stdin: str | bytes = "") -> Done:
    given = stdin.encode() if isinstance(stdin, str) else stdin
    done = preloaded.run(
        [*DEBUGGER, "explain-traceback", *words], input=given, capture_output=True, timeout=LIMIT_S, check=False
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


TOLD = """\
error: shape-mismatch  TD901, 80 % sure ────────────────────────────────────────────────────────────

  From the text alone: a Linear layer called by `x = self.fc1(x)` at net.py:14 got 3456 features
  and was built for 100.

  where     /home/me/project/net.py:14

            > 14 | x = self.fc1(x)

  evidence  got       3,456
            expected    100
            line      net.py:14: x = self.fc1(x)

  why       A Linear layer multiplies the last dimension of its input, so that one must equal
            in_features.

  fix       Build it as `nn.Linear(3456, 10)`, or give it 100 features. Not known from the text:
            the line that builds the layer, and where its input comes from. `torch-debugger run`
            on the script shows it.

────────────────────────────────────────────────────────────────────────────────────────────────────

  more      torch-debugger explain shape-mismatch
"""


def test_every_word_of_it() -> None:
    done = explain(stdin=PLAIN)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == TOLD


def test_a_file_and_a_dash(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(COATS["two ranks at once"])
    from_file, from_stdin = explain("log.txt"), explain("-", stdin=COATS["two ranks at once"])
    assert from_file.stdout == from_stdin.stdout == TOLD


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "latin-1"])
def test_other_encodings(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_bytes(f"Größe\n{PLAIN}".encode(encoding))
    assert explain("log.txt").stdout == TOLD


def test_json() -> None:
    done = explain("--json", stdin=PLAIN)
    told = json.loads(done.stdout)
    assert (done.returncode, told["outcome"], told["verdict"]) == (0, "explained", 0)
    [finding] = told["findings"]
    assert (finding["name"], finding["confidence"]) == ("shape-mismatch", 0.8)
    assert finding["where"] == {"module": None, "file": "/home/me/project/net.py", "line": 14}


def test_the_general_form_says_what_is_not_known() -> None:
    done = explain(stdin=PLAIN.replace("mat1 and mat2 shapes", "something else"))
    assert done.returncode == 0
    told = " ".join(done.stdout.split())
    assert "error: unexplained-crash TD900" in told
    assert "from the text alone the shapes, dtypes and values that met are not known" in told
    assert "`torch-debugger run` on the script shows what met there" in told


def test_a_raise_of_the_users_own_is_not_taken_for_torchs() -> None:
    own = PLAIN.split("  File")[0] + '  File "a.py", line 3, in check\n    raise RuntimeError(text)\n'
    done = explain(stdin=own + PLAIN.rstrip().split("\n")[-1])
    assert "error: unexplained-crash" in done.stdout


@pytest.mark.parametrize("text", ["", "all is well\n" * 100])
def test_no_traceback_in_the_text(text: str) -> None:
    done = explain(stdin=text)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no traceback and no message of an error in this text" in done.stderr


def test_a_file_that_is_not_there() -> None:
    done = explain("missing.txt")
    assert (done.returncode, done.stderr) == (
        2,
        "torch-debugger: cannot read missing.txt: No such file or directory.\n",
    )


def test_a_folder() -> None:
    done = explain(".")
    assert done.returncode == 2
    assert "cannot read ." in done.stderr


def test_a_terminal_is_told_what_to_do() -> None:
    environment = {**os.environ, "TERM": "dumb", "COLUMNS": "100"}
    child = pexpect.spawn(DEBUGGER[0], [*DEBUGGER[1:], "explain-traceback"], env=environment, timeout=LIMIT_S)
    child.expect("Paste the traceback here, then press Ctrl-D")
    for line in PLAIN.split("\n"):
        child.sendline(line)
    child.sendeof()
    child.expect("From the text alone: a Linear layer")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_torch_is_never_imported() -> None:
    code = "import sys\nfrom torch_debugger.cli import main\nmain(['explain-traceback'])\n"
    code += "sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], input=PLAIN.encode(), timeout=LIMIT_S, check=False)
    assert done.returncode == 0


def test_one_line_as_it_is_put_into_a_search_box() -> None:
    told = explain("RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x512 and 1024x10)").stdout
    assert "From the message alone" in told
    assert "512 features" in told
    assert "Paste the whole traceback" in " ".join(told.split())


def test_the_words_of_a_message_need_no_quotes() -> None:
    assert (
        "an earlier backward"
        in explain(*["Trying", "to", "backward", "through", "the", "graph", "a", "second", "time"]).stdout
    )


def test_a_message_that_nobody_knows() -> None:
    told = " ".join(explain(stdin="ValueError: the moon is too full\n").stdout.split())
    assert "unexplained-crash" in told
    assert "No check knows this message by itself, so no cause is claimed." in told
