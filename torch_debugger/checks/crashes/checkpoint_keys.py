"""TD940: a state dict whose names are not those of what it is loaded into."""

from __future__ import annotations

from torch_debugger.checks.explainers.checkpoints.checkpoint_keys import (
    explain_inner_state,
    explain_prefix,
    explain_wrong_object,
)
from torch_debugger.checks.explainers.checkpoints.checkpoint_layers import explain_other_layers
from torch_debugger.checks.explainers.checkpoints.optimizer_states import explain_optimizer_state
from torch_debugger.checks.explainers.crash_check import CrashCheck


class CheckpointKeys(CrashCheck):
    """A state dict's names do not meet those of the model or optimizer it was loaded into.

    Symptom:
        load_state_dict stops with "Missing key(s) in state_dict", "Unexpected key(s) in state_dict",
        "doesn't match the size of optimizer's group", or "Expected state_dict to be dict-like".
    Evidence:
        The names and shapes that were given, those the model wants, and whether a prefix, an entry of the
        checkpoint or a renaming in order makes them meet. For an optimizer, the parameters in each group.
    Fix:
        Pass the entry that holds the state, take the prefix off, or load into the wrapped part, as the
        finding says; the expression is filled in.
    Known limits:
        Renamed layers are paired by order, leaf names and shapes. Where layers were added, left out or
        replaced, which side is right is for you to say, and no edit is offered.
    """

    id = "TD940"
    name = "checkpoint-keys"
    title = "a state dict's names are not those of its model or optimizer"
    explainers = (
        explain_wrong_object,
        explain_prefix,
        explain_inner_state,
        explain_other_layers,
        explain_optimizer_state,
    )
