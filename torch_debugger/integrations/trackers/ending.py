"""How a run ended, as a tracker shows it: the verdict, a table of findings, the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch_debugger.report.json_form import to_json
from torch_debugger.report.markdown import render_markdown
from torch_debugger.report.result import RunResult

COLUMNS = ("severity", "check", "name", "message", "where", "fix", "first_step", "last_step", "confidence")


@dataclass(frozen=True)
class Ending:
    """How a run ended: its result as in result.json, and its report as Markdown."""

    result: dict[str, Any]
    report: str

    @property
    def exit_code(self) -> int:
        """Of a run whose code nobody knows: 0 if it finished."""
        code = self.result.get("exit_code")
        return int(code) if code is not None else int(self.result.get("outcome") != "finished")

    @property
    def summary(self) -> dict[str, str | int]:
        """What stands at the top of a tracker's page: the verdict, the outcome, how many findings."""
        findings = self.result.get("findings", [])
        verdict = findings[0] if self.result.get("verdict") is not None else None
        counts = {
            f"{severity}s": sum(finding["severity"] == severity for finding in findings)
            for severity in ("error", "warning", "note")
        }
        return {
            "verdict": f"{verdict['name']}: {verdict['message']}" if verdict else "none",
            "outcome": str(self.result.get("outcome", "unknown")),
            "steps": int(self.result.get("steps", 0)),
            **counts,
        }

    @property
    def rows(self) -> list[list[Any]]:
        """The findings as a table under COLUMNS, the verdict first."""
        told = [finding | {"where": _where(finding["where"])} for finding in self.result.get("findings", [])]
        return [[finding[column] for column in COLUMNS] for finding in told]


def _where(where: dict[str, Any]) -> str:
    line = f"{where['file']}:{where['line']}" if where["file"] else ""
    return " ".join(part for part in (line, where["module"] and f"({where['module']})") if part)


def ending_of(result: RunResult) -> Ending:
    return Ending(to_json(result), render_markdown(result))
