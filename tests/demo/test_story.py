"""The demo's scripts: a sequence of small changes, each with its own verdict."""

from __future__ import annotations

import itertools

from torch_debugger.checks.catalog import find_check
from torch_debugger.cli.demo import VERSIONS, Version, change
from torch_debugger.report.text import diff_lines


def test_each_version_is_one_small_edit_from_the_next() -> None:
    for old, new in itertools.pairwise(VERSIONS):
        edit = change(old, new)
        marks = [mark for mark, _ in diff_lines(edit)]
        assert marks.count("+") == 1 and marks.count("-") <= 1, new.file
        assert edit.before in old.text and edit.after in new.text, new.file


def test_the_edits_are_the_four_fixes() -> None:
    added = [line for old, new in itertools.pairwise(VERSIONS) for line in _added(old, new)]
    assert added == [
        "self.hidden = nn.Linear(LATENT, HIDDEN)",
        "z = self.sample(mean, torch.exp(0.5 * log_var))",
        "optimizer.zero_grad()",
        "epsilon = torch.randn(mean.shape, device=mean.device)",
    ]


def _added(old: Version, new: Version) -> list[str]:
    return [text.strip() for mark, text in diff_lines(change(old, new)) if mark == "+"]


def test_every_verdict_but_the_last_is_a_check() -> None:
    assert [find_check(each.verdict).name for each in VERSIONS if each.verdict] == [
        "shape-mismatch", "wrong-reparameterization", "missing-zero-grad", "tensor-on-wrong-device",
    ]  # fmt: skip
    assert VERSIONS[-1].verdict is None


def test_scripts_are_plain_user_scripts() -> None:
    for version in VERSIONS:
        compile(version.text, version.file, "exec")
        assert "torch_debugger" not in version.text, version.file
