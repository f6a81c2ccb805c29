"""Parameters that get gradients but that no optimizer moves."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from torch_debugger.checks.base import Check, RunState
from torch_debugger.checks.call_edits import give_second_model, give_whole_model, whole_model
from torch_debugger.records import Edit, Finding, LedgerFact, LedgerRow, OptimizerFact, PhaseFact, Place, Record


class ParametersNotInOptimizer(Check):
    """Some parameters get a gradient on every step, but no optimizer holds them.

    Symptom:
        The loss falls more slowly than it should, or stops early: a part of the model keeps the
        random weights it was made with.
    Evidence:
        The parameter ledger: parameters that are trainable, registered, used in forward and have
        a gradient that is not zero, yet are in no optimizer and were not changed by a step, while
        other parameters are in one. Parameters that were frozen and no longer are, were meant to be trained.
    Fix:
        Give the optimizer all parameters (`model.parameters()`), or make the optimizer after the
        last layer has been added or replaced. If the part is meant to stay as it is, say so with
        `requires_grad_(False)`: that also saves the time of its gradients.
    Known limits:
        If only layers before the trained ones are missing, this may be a backbone kept fixed on
        purpose; then it is a warning, given at the end of the run. A model of which no optimizer
        holds anything is judged only while it runs in training mode.
    """

    id = "TD102"
    name = "parameters-not-in-optimizer"
    title = "parameters get gradients but no optimizer holds them"
    reads = (LedgerFact, PhaseFact)
    explains = (
        "lr-too-high",
        "posterior-collapse",
        "frozen-at-random",
    )  # what is not trained keeps the loss where it was

    # A second ledger, of a later step, must agree: an optimizer may be made, or given another
    # group, between the first steps.
    ledgers_needed = 2

    def __init__(self) -> None:
        self._agreeing: dict[str, dict[str, int]] = {}  # root -> parameter -> ledgers in a row
        self._steps: dict[str, tuple[int, int]] = {}  # root -> first step with something missing, last step
        self._training: dict[str, bool] = {}
        self._reported: dict[str, Finding] = {}
        self._frozen: set[str] = set()  # parameters that were, at some time

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, PhaseFact):
            if record.grad:
                self._training[record.root] = self._training.get(record.root, False) or record.training
        elif isinstance(record, LedgerFact) and record.optimizers:
            yield from self._see_ledger(record, state)

    def _see_ledger(self, ledger: LedgerFact, state: RunState) -> Iterable[Finding]:
        first, last = self._steps.get(ledger.root, (ledger.step, -1))
        if ledger.step <= last:
            return
        self._frozen |= {row.name for row in ledger.rows if not row.trainable}
        before = self._agreeing.get(ledger.root, {})
        now = {name: before.get(name, 0) + 1 for name in self._missing(ledger, state)}
        self._agreeing[ledger.root] = now
        self._steps[ledger.root] = (first if before else ledger.step, ledger.step)
        agreed = self._agreed(ledger)
        if agreed and ledger.root not in self._reported and not lies_before_the_rest(ledger, agreed):
            self._reported[ledger.root] = self._judge(ledger, agreed, state)
            yield self._reported[ledger.root]

    def finish(self, state: RunState) -> Iterable[Finding]:
        for root, ledger in state.ledgers.items():
            agreed = self._agreed(ledger) & self._missing(ledger, state)
            if root in self._reported:
                yield dataclasses.replace(self._reported[root], last_step=ledger.step)
            elif agreed:  # nor did an optimizer take them later: it would have told so in that very step
                yield self._judge(ledger, agreed, state)

    def _agreed(self, ledger: LedgerFact) -> set[str]:
        counts = self._agreeing.get(ledger.root, {})
        return {name for name, count in counts.items() if count >= self.ledgers_needed}

    def _missing(self, ledger: LedgerFact, state: RunState) -> set[str]:
        held = {name for one in state.optimizers.values() for name in one.parameters}
        if not any(row.in_optimizer or row.name in held for row in ledger.rows):
            # Another model is trained through this one; in eval mode it is a fixed judge of that one.
            trains_a_model = any("." in name for name in held)
            if not trains_a_model or not self._training.get(ledger.root, False):
                return set()
        return {row.name for row in ledger.rows if is_left_out(row) and row.name not in held}

    def _judge(self, ledger: LedgerFact, names: set[str], state: RunState) -> Finding:
        known = list(state.optimizers.values())  # the one with the other parameters of this model first
        owners = [one for one in known if any(name.startswith(ledger.root + ".") for name in one.parameters)]
        optimizer = next(iter(owners or known), None)
        groups = group_by_module(ledger, names)
        unfrozen = names <= self._frozen
        early = lies_before_the_rest(ledger, names) and not unfrozen
        elements = sum(row.elements for row in ledger.rows if row.name in names)
        total = sum(row.elements for row in ledger.rows if row.trainable)
        texts = [f"all {count} parameters of `{path}`" if count > 1 else f"`{path}`" for path, count in groups[:3]]
        if len(groups) > 3:
            texts.append(f"{sum(count for _, count in groups[3:])} more parameters")
        text = " and ".join(", ".join(texts).rsplit(", ", 1))
        return self.finding(
            severity="warning" if early else "error",
            confidence=0.6 if early else 0.8 if groups[0][0] == ledger.root else 0.95,
            message=f"{text[0].upper()}{text[1:]} get a gradient on every step but are in no optimizer: {elements:,} "
            f"of {total:,} trainable values of `{ledger.root}` keep the values they started with.",
            why="An optimizer moves only the parameters it was given when it was made. These have gradients "
            "that are not zero, so the loss asks for them to change, and nothing changes them.",
            fix=_hand_over(groups, optimizer) if unfrozen else _fix(ledger, groups, optimizer, early),
            where=dataclasses.replace(optimizer.place if optimizer else Place(), module=groups[0][0]),
            steps=(self._steps[ledger.root][0], ledger.step),
            evidence={
                "missing_parameters": float(len(names)),
                "missing_elements": float(elements),
                "trainable_elements": float(total),
                "missing": ", ".join(path for path, _ in groups),
                "optimizer": (optimizer.source or optimizer.kind) if optimizer else "unknown",
            },
            edit=None if unfrozen else _edit(ledger, groups, optimizer),
        )


def _hand_over(groups: list[tuple[str, int]], optimizer: OptimizerFact | None) -> str:
    """They were unfrozen after the optimizer had been made of what was trainable."""
    part, name = groups[0][0], optimizer.name if optimizer else "optimizer"
    call = f'{name}.add_param_group({{"params": {part}.parameters()}})'
    return f"Where `{part}` is unfrozen, give it to `{name}` too: `{call}`."


def _fix(ledger: LedgerFact, groups: list[tuple[str, int]], optimizer: OptimizerFact | None, early: bool) -> str:
    parts = ", ".join(f"`{path}`" for path, _ in groups[:3])
    if optimizer is None:
        return f"Give an optimizer the parameters of {parts}."
    maker = f"`{optimizer.name}`"
    if optimizer.place.file:
        maker += f" at {optimizer.place.file}:{optimizer.place.line}"
    if groups[0][0] == ledger.root:
        return f"Give {maker} the parameters of `{ledger.root}` too: add `list({ledger.root}.parameters())`."
    names = [row.name for row in ledger.rows]
    found = whole_model(optimizer.source, ledger.root, names, optimizer.parameters)
    if found is not None and found[0] == found[1]:
        return f"Make {maker} after the line that adds or replaces {parts}, not before it."
    advice = f"Pass `{found[1] if found else ledger.root}.parameters()` to {maker}, so that it holds {parts} too."
    if early:
        advice += f" If {parts} should stay fixed, freeze it: `{groups[0][0]}.requires_grad_(False)`."
    return advice


def _edit(ledger: LedgerFact, groups: list[tuple[str, int]], optimizer: OptimizerFact | None) -> Edit | None:
    if optimizer is None:
        return None
    if groups[0][0] == ledger.root:
        return give_second_model(optimizer, ledger.root)
    return give_whole_model(optimizer, ledger.root, [row.name for row in ledger.rows])


# Parameters of a ledger that no optimizer moves, and the modules they make up.
def is_left_out(row: LedgerRow) -> bool:
    in_use = row.trainable and row.registered and row.used is not False and row.gradient == "nonzero"
    # A value that changes although no optimizer holds it is updated by hand.
    return in_use and not row.in_optimizer and row.changed is not True


def lies_before_the_rest(ledger: LedgerFact, names: set[str]) -> bool:
    """All that is missing was defined before all that is held: a backbone under a trained head?"""
    held = [index for index, row in enumerate(ledger.rows) if row.in_optimizer]
    left_out = [index for index, row in enumerate(ledger.rows) if row.name in names]
    return bool(held and left_out) and max(left_out) < min(held)


def group_by_module(ledger: LedgerFact, names: set[str]) -> list[tuple[str, int]]:
    """The largest modules that are missing as a whole, with their numbers of parameters."""
    groups: dict[str, int] = {}
    concerned = [row.name for row in ledger.rows if row.trainable or row.in_optimizer]
    for name in concerned:
        if name in names:
            path = _largest_missing(name, concerned, names)
            groups[path] = groups.get(path, 0) + 1
    return list(groups.items())


def _largest_missing(name: str, concerned: Sequence[str], names: set[str]) -> str:
    parts = name.split(".")
    for length in range(1, len(parts)):
        path = ".".join(parts[:length])
        if all(other in names for other in concerned if other.startswith(path + ".")):
            return path
    return name
