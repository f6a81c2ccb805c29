"""Tests of names by which parameters are frozen, read from the source and asked again."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Iterator

import pytest

from torch_debugger.source.parameters import NameTest, name_tests

FILE = "<names>"


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    linecache.cache.pop(FILE, None)


def read(source: str) -> list[NameTest]:
    text = textwrap.dedent(source).lstrip("\n")
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    return name_tests(FILE)


@pytest.mark.parametrize(
    "test",
    [
        'name.startswith("encoder")',
        '"encoder" in name and not name.endswith("bias")',
        'name.split(".")[0] in ("encoder", "embed")',
        'any(part in name for part in ("encoder", "embed"))',
    ],
)
def test_tests_of_names_and_constants(test: str) -> None:
    (found,) = read(f"""
        for name, p in model.named_parameters():
            if {test}:
                p.requires_grad = False
    """)
    assert (found.value, found.owner, found.place.line) == (False, "model", 2)
    assert found.lets_through("encoder.0.weight") and not found.lets_through("head.weight")


def test_words_that_are_given_to_a_function() -> None:
    (found,) = read("""
        def unfreeze(net, prefix):
            for name, p in net.named_parameters():
                if name.startswith(prefix):
                    p.requires_grad_(True)

        unfreeze(self.model, prefix="stage2")
    """)
    assert (found.value, found.owner, found.place.line) == (True, "model", 6)
    assert found.lets_through("stage2.0.weight") and not found.lets_through("backbone.stage2.0.weight")


LOOP = """
{start}for name, p in net.named_parameters():
{start}    if {test}:
{start}        p.requires_grad = False
"""


@pytest.mark.parametrize("test", ["name.startswith(args.prefix)", "fits(name)", "p.ndim < 2"])
def test_tests_that_cannot_be_asked_are_left_out(test: str) -> None:
    assert not read(LOOP.format(start="", test=test))


@pytest.mark.parametrize("above", ["if args.freeze:", "def freeze(net):"])
def test_loops_that_may_not_run_are_left_out(above: str) -> None:
    assert not read(above + LOOP.format(start="    ", test='"encoder" in name'))
