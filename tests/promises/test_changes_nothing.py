"""A watched training is the same training: output, exit code, weights, random numbers, memory, bit for bit.

The scripts print hashes of all they have made. A script is compared only where two plain runs of
it agree, so the second plain run is made when the first and the watched one differ.
"""

from __future__ import annotations

import re
import sys
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from tests.promises.running import AS_USED, PLAIN, SCRIPTS, WATCHED, Run, run, start

KINDS = [
    "mlp", "cnn", "transformer", "lstm", "gan", "lbfgs", "autocast", "checkpointed", "dice", "saves", "warns",
]  # fmt: skip
PROFILED = (*WATCHED, "--profile")
HAS_BFLOAT16 = torch.ops.mkldnn._is_mkldnn_bf16_supported()
BIG = ["whole", "halves", *(["bfloat16"] if HAS_BFLOAT16 else [])]
SLOW = pytest.mark.skipif(not HAS_BFLOAT16, reason="a processor without bfloat16 needs many minutes for these")

pytestmark = [
    pytest.mark.promise,
    pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc"),
]


@pytest.fixture(scope="module", autouse=True)
def everything_started() -> None:
    """All runs wait in one queue from the beginning, so that no core idles while a test compares."""
    for kind in KINDS:
        pair(kind)
    start(PROFILED, "cnn.py")
    memory_pair("whole", "4")
    for kind in BIG:
        memory_pair(kind, "64")


def pair(kind: str) -> tuple[Future[Run], Future[Run]]:
    return start(PLAIN, f"{kind}.py"), start(WATCHED, f"{kind}.py")


def memory_pair(kind: str, side: str) -> tuple[Future[Run], Future[Run]]:
    return start(PLAIN, "big.py", kind, side), start(AS_USED, "big.py", kind, side)


@pytest.mark.parametrize("kind", KINDS)
def test_the_training_is_the_same(kind: str) -> None:
    plain, watched = (future.result() for future in pair(kind))
    assert b"weights" in plain.stdout, plain.stderr
    if watched.stdout != plain.stdout:
        again = run([*PLAIN, str(SCRIPTS / f"{kind}.py")])
        assert again.stdout == plain.stdout, "two plain runs disagree: the script compares nothing"
    assert watched.stdout == plain.stdout, watched.stderr
    assert watched.code == plain.code == (7 if kind == "mlp" else 0)


def test_a_profile_and_the_samples_of_workers_change_nothing() -> None:
    """The data is drawn in two workers, each with a thread of ours in it."""
    plain, profiled = start(PLAIN, "cnn.py").result(), start(PROFILED, "cnn.py").result()
    assert profiled.stdout == plain.stdout, profiled.stderr
    assert profiled.code == plain.code == 0


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "warns"])
def test_nothing_is_added_to_stderr(kind: str) -> None:
    plain, watched = (future.result() for future in pair(kind))
    assert without_addresses(watched.stderr) == without_addresses(plain.stderr)


def without_addresses(text: str) -> str:
    """Where a kernel is missing, torch warns with its C++ stack: the addresses are other ones in every process,
    and the numbers count the Python frames between, of which ours are some."""
    return re.sub(r"^frame #\d+: (.*) \(0x[0-9a-f]+ in ", r"frame: \1 (in ", text, flags=re.MULTILINE)


def test_the_same_warnings_are_given() -> None:
    plain, watched = (future.result() for future in pair("warns"))
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
    """Our own code and what it knows of the script are a constant, which the same training in small shows."""
    small, big = memory("whole", "4"), memory(kind, "64")
    ours = small.watched - small.plain
    assert (
        ours - small.watched_files + small.plain_files < 18_000_000
    )  # the code of the probes, for the most part
    assert big.plain - small.plain > 80_000_000
    assert big.watched - ours < 1.01 * big.plain


class Peaks(NamedTuple):
    plain: int
    watched: int
    plain_files: int
    watched_files: int


def memory(kind: str, side: str) -> Peaks:
    plain, watched = (future.result() for future in memory_pair(kind, side))
    assert watched.stdout == plain.stdout, watched.stderr
    assert plain.peak_bytes and watched.peak_bytes, plain.stderr + watched.stderr
    return Peaks(plain.peak_bytes, watched.peak_bytes, plain.file_bytes or 0, watched.file_bytes or 0)


def test_the_scripts_are_all_run() -> None:
    helpers = {"fingerprint", "plain_model", "big"}
    assert {path.stem for path in Path(SCRIPTS).glob("*.py")} - helpers == set(KINDS)
