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
    file: Path


def read_cases(file: Path) -> list[Case]:
    """`=== name`, the script, `---`, the expected text; and so on."""
    step = 1 if file.stem == "first_step" else 7
    cases = []
    for block in file.read_text().split("=== ")[1:]:
        name, _, rest = block.partition("\n")
        source, _, told = rest.partition("---\n")
        cases.append(Case(name, HEAD + source, told.strip(), step, file))
    return cases


def rewrite(case: Case, told: str) -> None:
    """Put what is said now in the place of what was; read the diff before it is committed."""
    text = case.file.read_text()
    start = text.index(f"=== {case.name}\n")
    start = text.index("---\n", start) + len("---\n")
    end = text.find("\n=== ", start)
    case.file.write_text(f"{text[:start]}{told}\n{text[end:] if end >= 0 else ''}")


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


def claims(crash: CrashFact) -> list[str]:
    """The names of the checks that explain the crash; the general form explains nothing."""
    return [finding.name for finding in judge(crash) if finding.name != "unexplained-crash"]


def tell(finding: Finding) -> str:
    """All the words of a finding, as the golden files hold them."""
    lines = [
        f"{finding.name} {finding.confidence} line {finding.where.line} {finding.where.module or ''}".rstrip()
    ]
    lines += [finding.message, f"why: {finding.why}", f"fix: {finding.fix}"]
    if finding.edit is not None:
        lines += [f"- {finding.edit.before}", f"+ {finding.edit.after}".rstrip()]
    return "\n".join(lines)


def apply(edit: Edit, source: str) -> str:
    lines = source.splitlines()
    indent = lines[edit.line - 1][: -len(lines[edit.line - 1].lstrip())]
    assert lines[edit.line - 1] == indent + edit.before
    lines[edit.line - 1] = "\n".join(indent + line for line in edit.after.split("\n"))
    return "\n".join(lines) + "\n"
