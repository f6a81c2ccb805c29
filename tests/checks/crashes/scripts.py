"""Crash scripts: run a snippet as a user's file, capture its crash, let the whole catalog judge it."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed

from torch_debugger.checks.catalog import catalog
from torch_debugger.checks.judge import Judge
from torch_debugger.crashes.capture import capture_crash
from torch_debugger.records import CrashFact, Edit, Finding
from torch_debugger.system import secret_names as remembered

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"
VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


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


@contextmanager
def no_process_group() -> Iterator[None]:
    """None is there for a script, and what it sets up is gone after it."""
    kept = {name: os.environ.pop(name) for name in VARIABLES if name in os.environ}
    yield
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    for name in VARIABLES:
        os.environ.pop(name, None)
    os.environ.update(kept)


@contextmanager
def nothing_stays_behind() -> Iterator[None]:
    """For one of many scripts of a test: as the fixtures of tests/conftest.py have it for one of many tests."""
    folder = os.getcwd()
    with no_process_group():
        yield
    os.chdir(folder)
    remembered.forget()
    torch._C._set_mkldnn_enabled(True)
    dynamo = sys.modules.get("torch._dynamo")
    if dynamo is not None and dynamo.utils.counters["frames"]:  # something was compiled
        dynamo.reset()


def crash_of(file: Path, source: str, step: int = 7) -> CrashFact:
    error = run_script(file, source)
    assert error is not None, "the script was meant to crash"
    return capture_crash(error, step)


def judge(crash: CrashFact, only: Sequence[str] = ()) -> list[Finding]:
    judging = Judge(only)
    judging.see(crash)
    judging.finish()
    assert judging.faults == []
    return judging.findings


@functools.cache
def crash_checks() -> tuple[str, ...]:
    """To ask only these takes half the time; the whole catalog is asked of every crash of the golden files."""
    return tuple(check.name for check in catalog() if CrashFact in check.reads)


def claims(crash: CrashFact) -> list[str]:
    """The names of the checks that explain the crash; the general form explains nothing."""
    return [finding.name for finding in judge(crash, crash_checks()) if finding.name != "unexplained-crash"]


def tell(finding: Finding) -> str:
    """All the words of a finding, as the golden files hold them."""
    lines = [f"{finding.name} {finding.confidence} line {finding.where.line} {finding.where.module or ''}".rstrip()]
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
