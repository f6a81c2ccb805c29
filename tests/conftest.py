"""What every test leaves behind for the next one: nothing."""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
from collections.abc import Iterator

import hypothesis
import pytest
from hypothesis import HealthCheck

from tests.failures import Failures
from tests.times import Times
from tests.workers import Workers

# Before torch is imported. Small models: a second thread makes none faster, and waits on a core others need.
for library in ("OMP", "OPENBLAS"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# Long files first: a worker that begins one at the end leaves the other idle.
LONG_FIRST = ("browser", "ranks", "promises", "cli", "zoo", "probes", "trials")


# How long an example takes is no part of what it shows.
hypothesis.settings.register_profile("any pace", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis.settings.load_profile("any pace")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=0, help="run the tests in so many processes")


def pytest_configure(config: pytest.Config) -> None:
    # A suite that nohup or a shell has started in the background has these ignored, and so would its children.
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name, plugin in (("times", Times()), ("failures", Failures())):
        config.pluginmanager.register(plugin, name)
    if config.option.workers:
        config.pluginmanager.register(Workers(config.option.workers), "workers")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        rooms = [room for room in LONG_FIRST if f"/{room}/" in str(item.path)]
        return LONG_FIRST.index(rooms[0]) if rooms else len(LONG_FIRST)

    items.sort(key=place)


@pytest.fixture(scope="session", autouse=True)
def collect_only_what_the_tests_leave() -> Iterator[None]:
    """A million objects of torch's live as long as the process: looked through by every collection, they would
    take most of the time of many a test."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def draw_the_same_numbers_each_time() -> None:
    """A test that fails for one draw in a thousand fails for somebody else."""
    random.seed(0)
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None:
        numpy.random.seed(0)
    if torch is not None:
        torch.default_generator.manual_seed(0)  # not torch's: that notes the stack for GPUs that may come


@pytest.fixture(autouse=True)
def forget_what_was_compiled() -> Iterator[None]:
    """Dynamo remembers for the life of the process that something was compiled, and we step aside for it."""
    yield
    dynamo = sys.modules.get("torch._dynamo")
    if dynamo is not None:
        dynamo.reset()


@pytest.fixture(autouse=True)
def forget_what_was_secret() -> Iterator[None]:
    """A value that stood under `password` in one test would be hidden in the records of the next."""
    yield
    remembered = sys.modules.get("torch_debugger.system.secret_names")
    if remembered is not None:
        remembered.forget()


@pytest.fixture(autouse=True)
def end_what_watches() -> Iterator[None]:
    """The next test would be watched by two."""
    plumbing = sys.modules.get("torch_debugger.runner.plumbing")
    before = plumbing._current if plumbing is not None else None
    yield
    plumbing = sys.modules.get("torch_debugger.runner.plumbing")
    assert plumbing is None or plumbing._current is before, "the test did not end its watch"


@pytest.fixture(autouse=True)
def keep_fast_kernels() -> Iterator[None]:
    """torch switches oneDNN off for good when a bfloat16 product fails on a CPU that does not know them."""
    yield
    torch = sys.modules.get("torch")
    if torch is not None:
        torch._C._set_mkldnn_enabled(True)


@pytest.fixture(autouse=True)
def go_back_to_where_the_test_began() -> Iterator[None]:
    """Scripts that are run in the tests' own process may change the working folder."""
    before = os.getcwd()
    yield
    os.chdir(before)
