"""Every entry of the catalog keeps the form all others rely on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.house.rooms import imports_of
from tests.zoo.scripts import ZOO, name_of, patches_of, source_of
from torch_debugger.checks.base import Check
from torch_debugger.checks.catalog import FAMILIES, HEADINGS, catalog, family, page

Complaints = Iterator[str]


def of_all_checks(complain: Callable[[type[Check]], Complaints]) -> dict[str, list[str]]:
    """By the check's name; only those that something is wrong with."""
    told = {f"{family(check)}/{check.name}": list(complain(check)) for check in catalog()}
    assert len(told) > 200
    return {name: complaints for name, complaints in told.items() if complaints}


def test_a_name_is_made_of_words() -> None:
    def complain(check: type[Check]) -> Complaints:
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", check.name):
            yield "a name is two or more words with hyphens"

    assert not of_all_checks(complain)


def test_the_id_tells_the_family() -> None:
    def complain(check: type[Check]) -> Complaints:
        if not re.fullmatch(rf"TD{FAMILIES.index(family(check)) + 1}\d\d", check.id):
            yield check.id

    assert not of_all_checks(complain)


def test_ids_and_names_are_unique() -> None:
    assert len({check.id for check in catalog()}) == len(catalog())
    assert len({check.name for check in catalog()}) == len(catalog())


def test_the_page_is_complete() -> None:
    def complain(check: type[Check]) -> Complaints:
        text = page(check)
        if not re.fullmatch(r"[^\n]+\.", text.summary):
            yield f"not one line that ends with a full stop: {text.summary}"
        if tuple(text.sections) != HEADINGS:
            yield f"its headings are {', '.join(text.sections)}"
        yield from (f"little is said under {name}" for name, body in text.sections.items() if len(body.split()) <= 4)

    assert not of_all_checks(complain)


def test_the_attributes_are_known_words() -> None:
    def complain(check: type[Check]) -> Complaints:
        if check.status not in ("preview", "stable", "retired"):
            yield f"status {check.status}"
        if not check.reads:
            yield "reads nothing"
        if not 0 < len(check.title) <= 80 or check.title.endswith("."):
            yield f"title {check.title!r}"
        if check.name in check.explains:
            yield "explains itself"

    assert not of_all_checks(complain)


def test_what_a_check_explains_exists() -> None:
    named = {name for check in catalog() for name in check.explains}
    assert named <= {check.name for check in catalog()}


def test_every_check_has_its_home_in_the_zoo() -> None:
    assert not of_all_checks(lambda check: missing_in(ZOO / family(check) / check.name))


def missing_in(home: Path) -> Complaints:
    for name in ("broken.py", "lookalike.py", "expected.txt", "fix.diff"):
        if not (home / name).is_file():
            yield f"no {name}"
    mended = {patch.before for patch in patches_of(home).values()}
    yield from (f"no fix of {file.name}" for file in sorted(home.glob("broken*.py")) if file.name not in mended)


def test_nothing_is_left_to_do_of_a_skeleton() -> None:
    """What make new-check leaves to be filled in."""

    def complain(check: type[Check]) -> Complaints:
        home = ZOO / family(check) / check.name
        texts = {file.name: file.read_text() for file in home.iterdir() if file.suffix in (".py", ".txt")}
        texts["the check"] = f"{check.title} {check.__doc__}"
        yield from (f"TODO in {name}" for name, text in texts.items() if "TODO" in text)

    assert not of_all_checks(complain)


def test_what_is_missing_in_a_home_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("a\n")
    (tmp_path / "broken_2.py").write_text("a\n")
    (tmp_path / "fix.diff").write_text("--- broken.py\n+++ fixed.py\n@@ -1 +1 @@\n-a\n+b\n")
    assert list(missing_in(tmp_path)) == ["no lookalike.py", "no expected.txt", "no fix of broken_2.py"]


def test_no_home_in_the_zoo_is_without_a_check() -> None:
    homes = {path.parent.name for path in ZOO.rglob("broken*.py")}
    assert homes <= {check.name for check in catalog()}


def test_zoo_scripts_do_not_know_us() -> None:
    made = (file.parent / name for file in ZOO.rglob("fix.diff") for name in patches_of(file.parent))
    scripts = [*ZOO.rglob("*.py"), *made]
    assert len(scripts) > 1000
    assert not [name_of(script) for script in scripts if knows_us(source_of(script))]


def knows_us(source: str) -> bool:
    """Only a script with the word in it is parsed: it may stand in a comment."""
    return "torch_debugger" in source and any(
        part.startswith("torch_debugger") for name in imports_of(source) for part in name.split(".")
    )


def test_a_script_that_knows_us_is_seen() -> None:
    assert knows_us("def f():\n    import torch_debugger.records\n")
    assert knows_us("from torch_debugger import watch\n")
    assert not knows_us("import torch  # torch_debugger\n")
