"""What a check is: one class in a file of its own, records in, findings out.

A check is pure: no torch, no clock, no files. Its docstring has the headings Symptom, Evidence,
Fix and Known limits; `torch-debugger explain NAME` prints exactly that text.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import ClassVar

from torch_debugger.checks.state import RunState
from torch_debugger.records import Edit, Finding, Place, Record, Request


class Check(abc.ABC):
    """One entry of the catalog; one object of it judges one run."""

    id: ClassVar[str]  # TD + family digit + two digits; never reused
    name: ClassVar[str]  # kebab-case, names the fault
    title: ClassVar[str]  # the fault in a few words, for lists
    status: ClassVar[str] = "stable"  # preview -> stable -> retired
    reads: ClassVar[tuple[type, ...]]
    last_resort: ClassVar[bool] = False  # asked only about records of which no other check had anything to say
    explains: ClassVar[tuple[str, ...]] = ()  # names of checks whose findings this one causes

    @abc.abstractmethod
    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        """Judge one record of a class named in `reads`. `state` already includes it."""

    def finish(self, state: RunState) -> Iterable[Finding]:
        """Judge what only the end of the run can tell."""
        return ()

    def finding(
        self,
        *,
        severity: str,
        confidence: float,
        message: str,
        why: str,
        fix: str,
        where: Place,
        first_step: int,
        last_step: int,
        evidence: dict[str, float | str],
        edit: Edit | None = None,
        request: Request | None = None,
    ) -> Finding:
        return Finding(
            check=self.id,
            name=self.name,
            severity=severity,
            confidence=confidence,
            message=message,
            why=why,
            fix=fix,
            where=where,
            first_step=first_step,
            last_step=last_step,
            evidence=evidence,
            status=self.status,
            edit=edit,
            request=request,
        )
