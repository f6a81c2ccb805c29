"""A watched training is the same training: output, exit code, weights, random numbers, memory, bit for bit.

The scripts print hashes of all they have made. A script is compared only where two plain runs of
it agree, so the second plain run is made when the first and the watched one differ.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from tests.promises.running import AS_USED, PLAIN, SCRIPTS, WATCHED, Run, run, run_script

KINDS = [
    "mlp", "cnn", "transformer", "lstm", "gan", "lbfgs", "autocast", "checkpointed", "dice", "saves", "warns",
]  # fmt: skip
REAL = "mlp"  # in interpreters of its own; the others are forks
PROFILED = (*WATCHED, "--profile")
HAS_BFLOAT16 = torch.ops.mkldnn._is_mkldnn_bf16_supported()
SLOW = pytest.mark.skipif(not HAS_BFLOAT16, reason="a processor without bfloat16 needs many minutes for these")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")


def the_same(kind: str, how: tuple[str, ...]) -> tuple[Run, Run]:
    script = f"{kind}.py"
    plain = run_script(PLAIN, script, real=kind == REAL)
    watched = run_script(how, script, real=kind == REAL)
    assert b"weights" in plain.stdout, plain.stderr
    if watched.stdout != plain.stdout:
        again = run([*PLAIN, str(SCRIPTS / script)], real=kind == REAL)
        assert again.stdout == plain.stdout, "two plain runs disagree: the script compares nothing"
    assert watched.stdout == plain.stdout, watched.stderr
    assert watched.code == plain.code == (7 if kind == "mlp" else 0)
    return plain, watched


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "warns"])
def test_the_training_is_the_same_and_nothing_is_added_to_stderr(kind: str) -> None:
    plain, watched = the_same(kind, WATCHED)
    assert without_addresses(watched.stderr) == without_addresses(plain.stderr)


def test_a_profile_and_the_samples_of_workers_change_nothing() -> None:
    """The data is drawn in two workers, each with a thread of ours in it."""
    the_same("cnn", PROFILED)


def without_addresses(text: str) -> str:
    """Where a kernel is missing, torch warns with its C++ stack: the addresses are other ones in every process,
    and the numbers count the Python frames between, of which ours are some."""
    return re.sub(r"^frame #\d+: (.*) \(0x[0-9a-f]+ in ", r"frame: \1 (in ", text, flags=re.MULTILINE)


def test_the_training_is_the_same_and_the_same_warnings_are_given() -> None:
    plain, watched = the_same("warns", WATCHED)
    assert len(warnings(plain)) >= 5
    assert warnings(watched) == warnings(plain)
    own = [line for line in plain.stderr.splitlines() if "warns.py" in line]
    assert own and own == [line for line in watched.stderr.splitlines() if "warns.py" in line]


def warnings(done: Run) -> set[str]:
    """Without their places: a warning about the caller of a forward names a line of torch's own call, which
    is another one while hooks are on."""
    return set(re.findall(r"\w*Warning: .*|WARNING:.*", done.stderr))


@pytest.mark.parametrize("kind", ["whole", pytest.param("bfloat16", marks=SLOW), "halves"])
def test_the_peak_of_memory_is_the_same_within_one_percent(kind: str) -> None:
    """What we know of the script is a constant, which the same training in small shows."""
    small, big = memory("whole", "4"), memory(kind, "40")
    assert big.plain - small.plain > 30_000_000  # bfloat16 takes half of what the others take
    assert big.watched - (small.watched - small.plain) < 1.01 * big.plain


def test_our_code_and_what_it_knows_of_a_script_take_less_than_18_mb() -> None:
    peaks = Peaks.of(*the_same(REAL, WATCHED))
    ours, files = peaks.watched - peaks.plain, peaks.watched_files - peaks.plain_files
    assert 0 < ours - files < 18_000_000


class Peaks(NamedTuple):
    plain: int
    watched: int
    plain_files: int
    watched_files: int

    @classmethod
    def of(cls, plain: Run, watched: Run) -> Peaks:
        assert plain.peak_bytes and watched.peak_bytes, plain.stderr + watched.stderr
        return cls(plain.peak_bytes, watched.peak_bytes, plain.file_bytes or 0, watched.file_bytes or 0)


def memory(kind: str, side: str) -> Peaks:
    plain, watched = (run_script(how, "big.py", kind, side) for how in (PLAIN, AS_USED))
    assert watched.stdout == plain.stdout, watched.stderr
    return Peaks.of(plain, watched)


def test_the_scripts_are_all_run() -> None:
    helpers = {"fingerprint", "plain_model", "big"}
    assert {path.stem for path in Path(SCRIPTS).glob("*.py")} - helpers == set(KINDS)
