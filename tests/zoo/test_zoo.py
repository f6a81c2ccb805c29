"""The tool that runs the zoo; `make test` runs a sample of the zoo by it, `make zoo` all of it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from tests.house.rooms import PACKAGE
from tests.zoo import selection
from tests.zoo.edits import edited, wrong_edit
from tests.zoo.judging import complaint_about
from tests.zoo.patches import read_patches
from tests.zoo.runner import Job, Ran
from tests.zoo.scripts import ZOO, all_scripts, broken_scripts, expected_of, is_paced, name_of, needs, source_of
from torch_debugger.checks.base import Check
from torch_debugger.checks.catalog import catalog, family

BROKEN = ZOO / "setup" / "missing-zero-grad" / "broken.py"
LOOKALIKE = BROKEN.with_name("lookalike.py")


def ran(script: Path, findings: list[dict[str, Any]], verdict: int | None = None, edited: str | None = None) -> Ran:
    result = {"findings": findings, "verdict": verdict, "outcome": "finished", "cost": {"probes_removed": []}}
    return Ran(Job(script, edited), result, "", 0.0, 0.0)


def finding(**given: Any) -> dict[str, Any]:
    expected = expected_of(BROKEN)
    told: dict[str, Any] = {
        "name": expected.check, "severity": "error", "message": "m", "fix": expected.mentions[0],
        "where": {"file": str(BROKEN), "line": expected.lines[0]}, "first_step": 1, "symptom_of": None,
        "evidence": {}, "edit": None,
    }  # fmt: skip
    return told | given


def home_of(check: type[Check]) -> Path:
    return ZOO / family(check) / check.name


def test_every_script_of_the_zoo_is_python_also_those_that_a_diff_makes() -> None:
    sources = {name_of(script): source_of(script) for script in all_scripts()}
    assert len(sources) > 1600
    for name, source in sources.items():
        ast.parse(source, name)


def test_every_broken_script_says_what_is_expected_of_it() -> None:
    names = {check.name for check in catalog()}
    assert [name_of(script) for script in broken_scripts() if expected_of(script).check not in names] == []


def test_a_diff_is_applied_where_it_fits_and_nowhere_else() -> None:
    [first, second] = read_patches(
        "--- broken.py\n+++ fixed.py\n@@ -1,2 +1,3 @@\n+new\n a\n-b\n+c\n@@ -4 +5 @@\n-d\n+e\n"
        "--- broken_2.py\n+++ fixed_2.py\n@@ -2,0 +3 @@\n+end\n"
    )
    assert (first.before, first.after, second.after) == ("broken.py", "fixed.py", "fixed_2.py")
    assert first.apply("a\nb\n\nd\n") == "new\na\nc\n\ne\n"
    assert second.apply("a\nb\n") == "a\nb\nend\n"
    with pytest.raises(ValueError, match=r"does not fit broken\.py at line 4"):
        first.apply("a\nb\nd\n\n")


def test_a_sample_has_two_scripts_of_every_check_and_ten_have_all() -> None:
    scripts = all_scripts()
    samples = [selection.sample(scripts, commits) for commits in range(100, 110)]
    assert set().union(*samples) == {script for script in scripts if not is_paced(script)}
    assert max(map(len, samples)) < len(scripts) / 2
    healthy = {script for script in scripts if script.parent.name == "healthy"}
    for chosen in samples:
        homes = {(script.parent.name, script.name) for script in chosen}
        missing = [
            (check.name, name)
            for check in catalog()
            for name in ("broken.py", "lookalike.py")
            if (check.name, name) not in homes and not is_paced(home_of(check) / name)
        ]
        on_a_gpu = {script.parent.name for script in ZOO.rglob("*.py") if needs(script)}
        assert {name for name, _ in missing} <= on_a_gpu
        assert healthy <= set(chosen)


def test_shards_are_disjoint_and_make_the_whole() -> None:
    scripts = all_scripts()
    shards = [selection.shard(scripts, f"{part}/7") for part in range(1, 8)]
    assert sorted(script for shard in shards for script in shard) == scripts
    with pytest.raises(ValueError, match="0/7"):
        selection.shard(scripts, "0/7")


def test_scripts_are_chosen_by_path_or_by_check() -> None:
    scripts = all_scripts()
    home = {script for script in scripts if script.parent == BROKEN.parent}
    assert set(selection.matching(scripts, "missing-zero-grad")) == home
    assert set(selection.matching(scripts, "setup/missing-zero-grad/*")) == home
    assert selection.matching(scripts, "*/missing-zero-grad/broken.py") == [BROKEN]


@pytest.mark.parametrize(
    ("file", "some", "not_all"),
    [
        ("checks/setup/zero_grad.py", {"missing-zero-grad"}, True),
        (
            "probes/gradients_scaling_clipping.py",
            {"clip-after-step", "clip-always-active"},
            True,
        ),  # a maker of what they read
        ("checks/base.py", {"missing-zero-grad", "dead-relu"}, False),
        ("probes/watch.py", {"missing-zero-grad", "dead-relu"}, False),  # connects everything
    ],
)
def test_a_change_concerns_the_checks_that_it_leads_to(file: str, some: set[str], not_all: bool) -> None:
    concerned = selection.checks_behind({PACKAGE / file})
    assert some <= concerned
    assert (len(concerned) < len(catalog()) / 2) == not_all


def test_a_changed_script_concerns_its_home() -> None:
    chosen = selection.concerned(all_scripts(), [f"zoo/{name_of(BROKEN)}", "README.md"])
    assert {script.parent for script in chosen} == {BROKEN.parent}


def test_right_verdicts_and_silence_are_right() -> None:
    assert complaint_about(ran(BROKEN, [finding()], verdict=0)) == ""
    assert complaint_about(ran(LOOKALIKE, [finding(severity="note")])) == ""


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"name": "lr-too-high"}, "wanted missing-zero-grad, got lr-too-high"),
        ({"where": {"file": str(BROKEN), "line": 1}}, "wanted line"),
        ({"first_step": 10**6}, "found at step 1000000"),
        ({"fix": "pray"}, "mentions none of"),
    ],
)
def test_a_finding_that_does_not_fit_is_wrong(given: dict[str, Any], complaint: str) -> None:
    assert complaint in complaint_about(ran(BROKEN, [finding(**given)], verdict=0))


def test_a_miss_a_false_alarm_a_loud_symptom_and_a_failed_probe_are_wrong() -> None:
    assert "nothing was found" in complaint_about(ran(BROKEN, []))
    assert "must stay silent" in complaint_about(ran(LOOKALIKE, [finding(severity="warning")]))
    assert "more than two notes" in complaint_about(ran(LOOKALIKE, [finding(severity="note")] * 3))
    symptom = finding(name="lr-too-high")
    assert "not folded" in complaint_about(ran(BROKEN, [finding(), symptom], verdict=0))
    assert complaint_about(ran(BROKEN, [finding(), symptom | {"symptom_of": "x"}], verdict=0)) == ""
    failed = ran(LOOKALIKE, [])
    assert failed.result is not None
    failed.result["cost"]["probes_removed"] = ["clipping"]
    assert "probes failed" in complaint_about(failed)
    assert complaint_about(Ran(Job(BROKEN), None, "no end after 300 s", 300.0, 1.0)) == "no end after 300 s"


def test_an_edit_is_applied_with_the_indentation_of_its_line() -> None:
    number = expected_of(BROKEN).lines[0]
    line = source_of(BROKEN).splitlines()[number - 1]
    edit = {"file": str(BROKEN), "line": number, "before": line.strip(), "after": "first()\nsecond()"}
    job = edited(ran(BROKEN, [finding(edit=edit)], verdict=0))
    indent = line[: len(line) - len(line.lstrip())]
    assert job is not None
    assert f"\n{indent}first()\n{indent}second()\n" in job.source
    assert edited(ran(BROKEN, [finding()], verdict=0)) is None
    before = ran(BROKEN, [finding(edit=edit)], verdict=0)
    assert wrong_edit(ran(BROKEN, [], edited=job.source), before) == ""
    still = ran(BROKEN, [finding()], edited=source_of(BROKEN))
    assert "found again" in wrong_edit(still, before)
