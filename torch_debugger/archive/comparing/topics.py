"""All that can be compared without going through the steps."""

from __future__ import annotations

from torch_debugger.archive.comparing.code import compare_code
from torch_debugger.archive.comparing.data import compare_data
from torch_debugger.archive.comparing.environment import compare_environment
from torch_debugger.archive.comparing.evidence import RunEvidence
from torch_debugger.archive.comparing.matching import Matching
from torch_debugger.archive.comparing.model import compare_models
from torch_debugger.archive.comparing.outcome import compare_outcomes
from torch_debugger.archive.comparing.settings import compare_optimizers, compare_settings
from torch_debugger.records.comparison_of_runs import Topic


def compare_topics(first: RunEvidence, second: RunEvidence, matching: Matching) -> tuple[Topic, ...]:
    return (
        compare_code(first, second),
        compare_settings(first, second),
        compare_optimizers(first, second, matching),
        compare_models(first, second, matching),
        compare_data(first, second),
        compare_environment(first, second),
        compare_outcomes(first, second),
    )
