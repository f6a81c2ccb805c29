"""The harness sees a difference: one change at a time, for each property that is compared."""

from __future__ import annotations

import dataclasses
import re
import sys
from pathlib import Path

import pytest

from tests.hostile.allowed import CPU_FACTOR, CPU_SECONDS, MEMORY_MB, MEMORY_SHARE, allowance
from tests.hostile.catalog import LOOPS, MODELS, OTHERS, named, programs
from tests.hostile.comparing import differences, own_part
from tests.hostile.grammar import Program
from tests.hostile.judging import judge, shrink
from tests.hostile.running import Run, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the harness reads /proc")

# In place of torch-debugger: does what its first argument says, then runs the script.
STUB = """
import sys
change = sys.argv[1]
sys.argv[:] = sys.argv[2:]
import runpy
exec(change)
runpy.run_path(sys.argv[0], run_name="__main__")
"""
SMALL = "import sys\nimport witness\nprint('out')\nprint('err', file=sys.stderr)\nopen('mine.txt', 'w').close()\n"
CHANGES = {
    "ended": "import atexit, os; atexit.register(os._exit, 3)",
    "stdout": "print('more')",
    "stderr": "print('more', file=sys.stderr)",
    "files": "open('more.txt', 'w').close()",
    "temporary": "import tempfile; tempfile.mkdtemp()",
    "left_over": "import subprocess; subprocess.Popen(['sleep', '60'], stdout=-3, stderr=-3)",
    "threads": "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()",
    "file_numbers": "import os; os.open('/', os.O_RDONLY)",
    "next_file_number": "import os; os.open('/', os.O_RDONLY)",
    "environment": "import os; os.environ['MORE'] = '1'",
    "arguments": "sys.argv.append('more')",
    "import_path": "sys.path.append('/more')",
    "importers": "sys.meta_path.append(object())",
    "modules": "import wave",
    "signals": "import signal; signal.signal(signal.SIGUSR1, print)",
    "signal_masks": "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])",
    "hooks": "sys.excepthook = print",
    "warning_filters": "import warnings; warnings.simplefilter('error')",
    "garbage_collection": "import gc; gc.disable()",
    "interpreter": "sys.setrecursionlimit(999)",
    "process": "import os; os.nice(1)",
    "main_module": "import builtins; sys.modules['__mp_main__'] = builtins",
    "streams": "sys.stdout.reconfigure(line_buffering=True)",
    "notice": "print('torch-debugger: something', file=sys.stderr)",
    "our frame in a traceback": "print('File \"/x/torch_debugger/y.py\", line 3', file=sys.stderr)",
}


def _program(text: str = SMALL) -> Program:
    return Program(("small",), "0", text, {"train.py": text}, ("train.py",), {}, None)


def _how(change: str) -> tuple[str, ...]:
    return (sys.executable, "-S", "-c", STUB, change)


@pytest.fixture(autouse=True)
def children_end_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.hostile.running.CHILDREN_END_S", 0.2)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(_program(), _how("pass"), tmp_path_factory.getbasetemp() / "hostile" / "run")


def test_each_change_is_seen(plain: Run, tmp_path_factory: pytest.TempPathFactory) -> None:
    """At the same place as the plain run: all paths are equal."""
    root, missed = tmp_path_factory.getbasetemp() / "hostile" / "run", {}
    for what, change in CHANGES.items():
        seen = {re.sub(r"\[.*", "", one.what) for one in differences(plain, run(_program(), _how(change), root))}
        if what not in seen:
            missed[what] = seen
    assert not missed


def test_the_same_is_the_same(plain: Run, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.getbasetemp() / "hostile" / "run"
    assert differences(plain, run(_program(), _how("pass"), root)) == []


def test_everything_that_the_witness_tells_is_compared(plain: Run) -> None:
    for what in plain.told[0].keys() - {"moment", "child"}:
        told = [{**plain.told[0], what: "another"}, *plain.told[1:]]
        assert [one.what for one in differences(plain, dataclasses.replace(plain, told=told))] == [what]
    fewer = dataclasses.replace(plain, told=plain.told[:1])
    assert [str(one) for one in differences(plain, fewer)] == ["witness: exit #1: True -> False"]


def test_what_it_costs_has_a_limit(plain: Run) -> None:
    most = plain.peak_mb * (1 + MEMORY_SHARE) + MEMORY_MB
    longest = plain.processor_s * CPU_FACTOR + CPU_SECONDS
    within = dataclasses.replace(plain, peak_mb=most - 1, processor_s=longest - 0.1)
    assert differences(plain, within) == []
    beyond = dataclasses.replace(plain, peak_mb=most + 1, processor_s=longest + 0.1)
    assert [one.what for one in differences(plain, beyond)] == ["peak memory", "processor time"]


def test_a_probe_that_was_removed_is_a_failure(plain: Run) -> None:
    removed = dataclasses.replace(plain, result={"cost": {"probes_removed": ["backward"]}})
    assert [str(one) for one in differences(plain, removed)] == ["probe removed: backward"]


def test_our_report_is_told_from_what_the_script_wrote() -> None:
    rule = "─" * 80 + "\n"
    report = f"error: shape-mismatch  TD901 {rule}\n  Broken.\n\n{rule}\n"
    foot = "  run       crashed\n  more      explain\n"
    mine = "torch-debugger: I say that myself\nTraceback\n"
    notice = "torch-debugger: The log ends early.\n"
    assert own_part(mine + notice + report + foot, mine) == (mine, [notice.strip()])
    assert own_part(report + notice + mine, mine) == (mine, [notice.strip()])


def test_what_two_plain_runs_differ_in_is_not_compared(tmp_path: Path) -> None:
    verdict = judge(_program(SMALL + "import os\nprint(os.getpid())\n"), (sys.executable,), tmp_path / "run")
    assert verdict.failures == [] and "stdout" in {one.what for one in verdict.undecided}


def test_a_difference_that_is_allowed_has_a_reason() -> None:
    entry = allowance("threads: + torch-debugger watchdog daemon=True")
    assert entry is not None and entry.reason
    assert allowance("threads: + somebody daemon=True") is None


def test_the_shrinker_names_the_pieces_to_blame(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Judged by the text alone: two of the pieces together are the fault."""

    def pretend(program: Program, how: tuple[str, ...], root: Path) -> object:
        failures = ["stdout"] if "os.umask" in program.text and "fcntl" in program.text else []
        return _Judged(program, frozenset(failures))

    monkeypatch.setattr("tests.hostile.judging.judge", pretend)
    whole = pretend(named("lstm+adam+umask+nice+lock_file+tempfiles"), (), tmp_path)
    assert shrink(whole, (), tmp_path).program.names == ("mlp", "sgd", "umask", "lock_file")  # type: ignore[arg-type]


@dataclasses.dataclass
class _Judged:
    program: Program
    failed: frozenset[str]

    def kinds(self) -> frozenset[str]:
        return self.failed


def test_all_programs_are_python_and_the_same_ones_each_time() -> None:
    drawn = programs(400, seed=3)
    for program in drawn:
        compile(program.text, "+".join(program.names), "exec")
    assert drawn == programs(400, seed=3)
    assert programs(5, seed=4) != drawn[:5]


def test_all_pieces_are_drawn_and_their_names_differ() -> None:
    pieces = [piece.name for piece in (*MODELS, *LOOPS, *OTHERS)]
    assert len(set(pieces)) == len(pieces)
    drawn = {name for program in programs(300, seed=0) for name in program.names}
    assert drawn == set(pieces)
