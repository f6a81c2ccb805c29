"""The verbs checks and explain, as a user reads them."""

from __future__ import annotations

import argparse
import json
from types import ModuleType

import pytest

from torch_debugger.checks.catalog import FAMILIES, HEADINGS, catalog, page
from torch_debugger.cli import checks, explain
from torch_debugger.system.errors import UsageError


def run(verb: ModuleType, *arguments: str) -> int:
    parser = argparse.ArgumentParser()
    verb.add_arguments(parser)
    code = verb.run(parser.parse_args(arguments))
    assert isinstance(code, int)
    return code


def test_every_check_is_listed_whole(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert run(checks) == 0
    listed = capsys.readouterr().out
    for check in catalog():
        assert f"{check.id}  {check.status:<7}  {check.name}" in listed
    assert f"{len(catalog())} checks; torch-debugger explain NAME tells more about one." in listed


def test_no_name_is_cut_at_60_columns(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    run(checks)
    listed = capsys.readouterr().out
    assert all(check.name in listed for check in catalog())
    assert max(map(len, listed.split("\n"))) <= 60


def test_one_family(capsys: pytest.CaptureFixture[str]) -> None:
    run(checks, "--family", "setup", "--json")
    listed = json.loads(capsys.readouterr().out)
    assert {entry["family"] for entry in listed} == {"setup"}
    assert "missing-zero-grad" in {entry["name"] for entry in listed}


def test_every_family_has_checks(capsys: pytest.CaptureFixture[str]) -> None:
    for name in FAMILIES:
        assert run(checks, "--family", name) == 0
        assert not capsys.readouterr().out.startswith("0 checks;"), name


@pytest.mark.parametrize("wanted", ["missing-zero-grad", "TD101", " td101 "])
def test_explain_finds_a_check_by_name_or_id(capsys: pytest.CaptureFixture[str], wanted: str) -> None:
    assert run(explain, wanted) == 0
    assert capsys.readouterr().out.startswith("missing-zero-grad  TD101, setup, ")


def test_an_unknown_name_gets_a_close_one() -> None:
    with pytest.raises(UsageError, match="Did you mean missing-zero-grad"):
        run(explain, "missing-zerograd")


def test_every_page_is_printed_whole(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    complaints = []
    for check in catalog():
        run(explain, check.name)
        printed = {*capsys.readouterr().out.split()}
        sections = page(check).sections
        if list(sections) != list(HEADINGS):
            complaints.append(f"{check.name} has the headings {list(sections)}")
        words = {word for body in (page(check).summary, *sections.values()) for word in body.split()}
        if words - printed:
            complaints.append(f"{check.name} is printed without {sorted(words - printed)}")
    assert not complaints, "\n".join(complaints)
