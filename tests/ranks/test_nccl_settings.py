"""The two names of the variable by which NCCL's errors end a rank."""

from __future__ import annotations

from torch_debugger.ranks.processes import NEW, OLD
from torch_debugger.ranks.processes import nccl_error_setting as told_of_errors


def test_what_is_set_under_which_name() -> None:
    assert told_of_errors({}) == told_of_errors({NEW: "3"}) == told_of_errors({"NCCL_DEBUG": "INFO"}) == ""
    old = told_of_errors({OLD: "1"})
    assert old.startswith(f"{OLD} is the old name of {NEW}: torch still reads it") and "1: a rank whose" in old
    assert "for ever" in told_of_errors({NEW: "0"}) and "by default (3)" in told_of_errors({NEW: "0"})
    both = told_of_errors({OLD: "0", NEW: "1"})
    assert both.startswith(f"{OLD}=0 has no effect") and "1: a rank whose collective" in both
    assert "does not know" in told_of_errors({NEW: "yes"})
