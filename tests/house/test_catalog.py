"""Every entry of the catalog keeps the form all others rely on."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

from tests.house.rooms import REPOSITORY
from torch_debugger.checks.base import Check
from torch_debugger.checks.catalog import FAMILIES, catalog, family
from torch_debugger.checks.pages import HEADINGS, page

CHECKS = [pytest.param(check, id=check.name) for check in catalog()]


def home(check: type[Check]) -> Path:
    return REPOSITORY / "zoo" / family(check) / check.name


@pytest.mark.parametrize("check", CHECKS)
def test_the_file_is_named_after_the_check(check: type[Check]) -> None:
    assert Path(inspect.getfile(check)).stem == check.name.replace("-", "_")
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", check.name)


@pytest.mark.parametrize("check", CHECKS)
def test_the_id_tells_the_family(check: type[Check]) -> None:
    assert re.fullmatch(rf"TD{FAMILIES.index(family(check)) + 1}\d\d", check.id)


def test_ids_and_names_are_unique() -> None:
    assert len({check.id for check in catalog()}) == len(catalog())
    assert len({check.name for check in catalog()}) == len(catalog())


@pytest.mark.parametrize("check", CHECKS)
def test_the_page_is_complete(check: type[Check]) -> None:
    text = page(check)
    assert re.fullmatch(r"[^\n]+\.", text.summary)
    assert tuple(text.sections) == HEADINGS
    assert all(len(body.split()) > 4 for body in text.sections.values())


@pytest.mark.parametrize("check", CHECKS)
def test_the_attributes_are_known_words(check: type[Check]) -> None:
    assert check.status in ("preview", "stable", "retired")
    assert check.reads
    assert 0 < len(check.title) <= 80
    assert not check.title.endswith(".")
    assert check.name not in check.explains


def test_what_a_check_explains_exists() -> None:
    named = {name for check in catalog() for name in check.explains}
    assert named <= {check.name for check in catalog()}


@pytest.mark.parametrize("check", CHECKS)
def test_every_check_has_its_home_in_the_zoo(check: type[Check]) -> None:
    missing = [
        name
        for name in ("broken.py", "fixed.py", "lookalike.py", "expected.txt")
        if not (home(check) / name).is_file()
    ]
    assert not missing, f"zoo/{family(check)}/{check.name} lacks {', '.join(missing)}"


def test_no_home_in_the_zoo_is_without_a_check() -> None:
    homes = {path.parent.name for path in (REPOSITORY / "zoo").rglob("broken.py")}
    assert homes <= {check.name for check in catalog()}


@pytest.mark.parametrize(
    "path", sorted((REPOSITORY / "zoo").rglob("*.py")), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_zoo_scripts_do_not_know_us(path: Path) -> None:
    names = [
        name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [getattr(node, "module", None), *(alias.name for alias in node.names)]
    ]
    assert not [name for name in names if name and name.startswith("torch_debugger")]
