"""What every test leaves behind for the next one: nothing."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator

import pytest

_MOST_TRIED_AGAIN = 12


def pytest_addoption(parser: pytest.Parser) -> None:
    told = "run what failed beside other tests once more, by itself; what is marked as a promise is not excused"
    parser.addoption("--second-try", action="store_true", help=f"with --last-failed: {told}")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Many a test runs scripts that are judged by times, on a machine that runs others at the same time."""
    if not config.getoption("--second-try"):
        return
    if len(items) > _MOST_TRIED_AGAIN:
        raise pytest.UsageError(f"{len(items)} tests failed, more than a busy machine explains: no second try")
    broken = [item.nodeid for item in items if item.get_closest_marker("promise")]
    if broken:
        raise pytest.UsageError(f"a promise is broken if it is once: no second try for {', '.join(broken)}")


@pytest.fixture(scope="session", autouse=True)
def collect_only_what_the_tests_leave() -> Iterator[None]:
    """A million objects of torch's live as long as the process: looked through by every collection, they would
    take most of the time of many a test."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


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
    remembered = sys.modules.get("torch_debugger.redaction.remembered")
    if remembered is not None:
        remembered.forget()


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
