"""Parameters that were replaced by others: stale optimizers, untied weights."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.call_edits import edit_line
from torch_debugger.checks.optimization import Streak, StreakCheck, call_at
from torch_debugger.records import Edit, Finding, OptimizerFact, Place, ReplacedParameter, StepCycle, UntiedWeights


class OptimizerHoldsStaleParameters(StreakCheck):
    """The model was made anew after its optimizer, which still moves the parameters of the old one.

    Symptom:
        The loss stays where it is from the moment the model was rebuilt, copied or loaded as a new object.
    Evidence:
        On several sampled steps in a row backward() ran and the optimizer's parameters got no gradient
        from it, while a model whose parameters have exactly the same shapes, in the same order, ran with
        gradients and is held by no optimizer.
    Fix:
        Make the optimizer after the line that makes the model which is trained; or load weights into the
        old object with `load_state_dict` instead of making a new one.
    Known limits:
        Only a model that was replaced as a whole is told this way. A single layer that was replaced is
        reported as parameters-not-in-optimizer.
    """

    id = "TD113"
    name = "optimizer-holds-stale-parameters"
    title = "the optimizer holds the parameters of an old model"
    explains = ("parameters-not-in-optimizer", "lr-too-high")

    # Identity of objects, for any optimizer; the first steps after a swap may belong to a copy under way.
    sampled_steps = 3

    def is_wrong(self, cycle: StepCycle) -> bool:
        return bool(cycle.twin)

    def judge(self, streak: Streak, state: RunState) -> Finding:
        cycle = streak.last
        made = state.optimizers.get(cycle.optimizer)
        maker = f"`{cycle.optimizer}`{_made(made)}"
        return self.finding(
            severity="error",
            confidence=0.95,
            message=f"{maker} holds the parameters of another object than `{cycle.twin}`: since step "
            f"{streak.first_step} backward() has given gradients to `{cycle.twin}`, and none to what the optimizer "
            "moves.",
            why="An optimizer holds the very parameters it was given. A model that is built, copied or loaded "
            f"later has its own, of the same shapes; those of `{cycle.twin}` are in no optimizer.",
            fix=f"Make {maker} after `{cycle.twin}` is made{at_line(cycle.twin_place)}, or put the new weights "
            "into the old object with `load_state_dict`.",
            where=dataclasses.replace(made.place if made else cycle.place, module=cycle.twin),
            steps=(streak.first_step, max(cycle.step, state.step)),
            evidence={
                "optimizer": cycle.optimizer,
                "trained_model": cycle.twin,
                "gradients": cycle.gradients,
                "streak": float(streak.length),
            },
        )


def _made(optimizer: OptimizerFact | None) -> str:
    return at_line(optimizer.place) if optimizer is not None else ""


class ParameterReplaced(Check):
    """A parameter is replaced by a new one during the training, again and again.

    Symptom:
        One layer follows the training only by what replaces it; its optimizer state never grows, and what the
        optimizer does to it is lost.
    Evidence:
        At several looks the attribute of one and the same module held another object than at the last, where
        an optimizer trained the first one; the loss is computed with the new one, and no optimizer holds it.
        Where it is replaced between forward and backward, the graph of the loss ends in the old object, and the
        new one gets no gradient at all.
    Fix:
        Write the new values into the parameter: `with torch.no_grad(): layer.weight.copy_(values)`, after
        `optimizer.step()`.
    Known limits:
        A parameter that is replaced once is reported as parameters-not-in-optimizer. Replacements that no line
        of the script makes by an assignment are left to the library that makes them. So are parameters that no
        gradient trains (moving averages, class means) and those of functional_call.
    """

    id = "TD150"
    name = "parameter-replaced"
    title = "a parameter is replaced by a new object while it trains"
    reads = (ReplacedParameter,)
    explains = ("parameters-not-in-optimizer", "unused-parameters", "optimizer-holds-stale-parameters", "graph-cut")

    looks_needed = 2  # the first may be the one change that a new optimizer follows

    def see(self, record: ReplacedParameter, state: RunState) -> Iterable[Finding]:
        if record.looks == self.looks_needed:
            line = call_at(record.place, f"{record.name} = nn.Parameter(...)")
            happens = (
                "the backward() of the same step reaches the old one, so the new one gets no gradient"
                if record.in_step
                else "the optimizer still holds the first one, so none of its updates reaches the model"
            )
            yield self.finding(
                severity="error",
                confidence=0.93,
                message=f"{line} puts a new parameter of {record.elements:,} values in the place of `{record.name}` in "
                f"every step looked at: {happens}.",
                why="A graph and an optimizer know a parameter as an object, not by its name. An assignment makes "
                "the module use another object; what was given to the optimizer stays as it was.",
                fix=f"Write into the parameter that is there, after the update: `with torch.no_grad(): "
                f"{record.name}.copy_(...)`.",
                where=dataclasses.replace(record.place, module=record.name),
                steps=(max(1, record.step - record.looks + 1), record.step),
                evidence={
                    "parameter": record.name,
                    "values": float(record.elements),
                    "looks": float(record.looks),
                    "replaced": "between forward and backward" if record.in_step else "between steps",
                },
                edit=None if record.in_step else _in_place(record.place),
            )


def _in_place(place: Place) -> Edit | None:
    """`x.weight = nn.Parameter(values)` as a write; before a backward the line would have to move as well."""
    try:
        statements = ast.parse(place.code or "").body
    except SyntaxError:
        return None
    match statements:
        case [ast.Assign(targets=[ast.Attribute() as target], value=ast.Call(args=[values]) as call)]:
            if ast.unparse(call.func).endswith("Parameter"):
                write = f"{ast.unparse(target)}.copy_({ast.unparse(values)})"
                return edit_line(place, f"with torch.no_grad():\n    {write}")
    return None


class WeightTyingBroken(Check):
    """The weights of an embedding and of the output layer should be shared, but only their values were copied.

    Symptom:
        The model has more parameters than it should, learns more slowly, and the two weights drift apart.
    Evidence:
        Before the first update the two had bit for bit the same values in two different objects, and a line
        of the class copies one into the other; or a line shares them, and a later one has put another
        object in the place of one. An optimizer holds both.
    Fix:
        `self.head.weight = self.embed.weight`, after the last line that makes or replaces either.
    Known limits:
        Only lines of `__init__` that run always are read. Layers of the same kind that begin with the same
        values (twin networks, copied blocks) are not reported.
    """

    id = "TD123"
    name = "weight-tying-broken"
    title = "weights that should be shared are two"
    reads = (UntiedWeights,)

    def see(self, record: UntiedWeights, state: RunState) -> Iterable[Finding]:
        copied = record.how == "copied"
        # self.head.weight = self.embed.weight, by the part of the two names in which they differ.
        first, second = record.first.split("."), record.second.split(".")
        while len(first) > 2 and len(second) > 2 and first[0] == second[0]:
            first, second = first[1:], second[1:]
        sharing = f"self.{'.'.join(second)} = self.{'.'.join(first)}"
        yield self.finding(
            severity="warning",
            confidence=0.8 if copied else 0.85,
            message=f"`{record.second}` and `{record.first}` are two weights of {record.elements:,} values each "
            f"that train apart: {call_at(record.place, 'a line')} "
            f"{'copies values and shares nothing' if copied else 'shares them, and a later one undoes it'}.",
            why=(
                "Two layers share a weight only if both hold the same nn.Parameter. A copy has a gradient and "
                "updates of its own from the first step on."
                if copied
                else "A layer that is made or replaced after the line that ties it has a new nn.Parameter. The "
                "other layer keeps the old one."
            ),
            fix=(
                f"Write `{sharing}`{at_line(record.place)}."
                if copied
                else f"Move `{sharing}`{at_line(record.place)} below the line that makes either layer again."
            ),
            where=dataclasses.replace(record.place, module=record.second),
            steps=(record.step, max(record.step, state.step)),
            evidence={"values": float(record.elements), "how": record.how},
            edit=edit_line(record.place, sharing) if copied else None,
        )
