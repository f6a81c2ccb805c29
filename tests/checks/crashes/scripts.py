"""Crash scripts: run a snippet as a user's file, capture its crash, let the whole catalog judge it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

from torch_debugger.checks.judge import Judge
from torch_debugger.probes.crashes import capture_crash
from torch_debugger.records import CrashFact, Edit, Finding

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"


@dataclass(frozen=True)
class Case:
    """One entry of a golden file: a script, the step it crashes in, and what must be said of it."""

    name: str
    source: str
    told: str
    step: int


def read_cases(file: Path, step: int) -> list[Case]:
    """`=== name`, the script, `---`, the expected text; and so on."""
    cases = []
    for block in file.read_text().split("=== ")[1:]:
        name, _, rest = block.partition("\n")
        source, _, told = rest.partition("---\n")
        cases.append(Case(name, HEAD + source, told.strip(), step))
    return cases


def run_script(file: Path, source: str) -> BaseException | None:
    """Run a script from a real file; its exception comes back."""
    file.write_text(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(source, str(file), "exec"), {"__name__": "__main__", "__file__": str(file)})
        except Exception as error:
            return error
    return None


def crash_of(file: Path, source: str, step: int = 7) -> CrashFact:
    error = run_script(file, source)
    assert error is not None, "the script was meant to crash"
    return capture_crash(error, step)


def judge(crash: CrashFact) -> list[Finding]:
    judging = Judge()
    judging.see(crash)
    judging.finish()
    assert judging.faults == []
    return judging.findings


def tell(finding: Finding) -> str:
    """All the words of a finding, as the golden files hold them."""
    lines = [
        f"{finding.name} {finding.confidence} line {finding.where.line} {finding.where.module or ''}".rstrip()
    ]
    lines += [finding.message, f"why: {finding.why}", f"fix: {finding.fix}"]
    if finding.edit is not None:
        lines += [f"- {finding.edit.before}", f"+ {finding.edit.after}"]
    return "\n".join(lines)


def apply(edit: Edit, source: str) -> str:
    lines = source.splitlines()
    indent = lines[edit.line - 1][: -len(lines[edit.line - 1].lstrip())]
    assert lines[edit.line - 1] == indent + edit.before
    lines[edit.line - 1] = indent + edit.after
    return "\n".join(lines) + "\n"
