"""A NonFinite record as the words of a finding: message, why, fix and edit."""

from __future__ import annotations

from torch_debugger.checks.explainers.nonfinite.case import Case, Story
from torch_debugger.checks.explainers.nonfinite.causes import explain_op, is_custom
from torch_debugger.checks.explainers.nonfinite.inputs import explain_input
from torch_debugger.checks.explainers.nonfinite.weights import explain_weights, were
from torch_debugger.checks.explainers.nonfinite.wording import line_of, parameters_text
from torch_debugger.records import NonFinite, OptimizerFact, Origin

_DONE = {
    "stop": "the run was stopped there",
    "break": "the run was halted there for a look",
    "skip-step": "the update of that step was skipped",
    "detect_anomaly": "`detect_anomaly` ended the script there",
    "anomaly": "autograd's anomaly mode ended the script there",
}
# How an op makes NaN of an Inf; there is no other way.
_INTO_NAN = {
    "mul": "0 * inf is NaN", "sub": "inf - inf is NaN", "add": "inf + -inf is NaN", "div": "inf / inf is NaN",
    "sum": "inf + -inf is NaN", "mean": "inf + -inf is NaN", "softmax": "inf - inf is NaN",
    "log_softmax": "inf - inf is NaN", "mse_loss": "inf - inf is NaN",
}  # fmt: skip
_PHASES = {"loss": "between the model's output and the loss", "backward": "in the backward pass"}
_EDGES = (
    "Look for a log, root, division or exp at the edge of its range; if the loss grew before, lower the "
    "learning rate."
)
_STOP = "`torch-debugger run --on-nan stop` looks at every step at once and traces the op."
_FOLLOW = "Put `with torch_debugger.detect_anomaly():` around the step: it follows the ops as they run."


def tell(fact: NonFinite, optimizer: OptimizerFact | None = None) -> Story:
    """The story's proof is the whole message."""
    story = _story(fact, optimizer)
    done = f"; {_DONE[fact.policy]}" if fact.policy in _DONE else ""
    return Story(f"{_subject(fact)}{story.proof}{done}.", story.why, story.fix, story.edit)


def _subject(fact: NonFinite) -> str:
    """The loss became nan at step 12"""
    names = parameters_text(fact.parameters)
    subject = "A gradient" if fact.what == "gradient" else f"The {fact.what}"
    if fact.what == "value":
        subject = "A value"
    elif fact.what == "gradient" and fact.parameters:
        subject = f"The gradient{'s' if len(fact.parameters) > 1 else ''} of {names}"
    elif fact.what == "weight" and fact.parameters:
        subject = names
    when = f" at step {fact.step}" if fact.step else ""
    return f"{subject} became {fact.value}{when}"


def _story(fact: NonFinite, optimizer: OptimizerFact | None) -> Story:
    origin = fact.origin
    if fact.how == "late":
        return _late(fact)
    if origin is None:
        return _nothing_found(fact)
    if origin.phase == "input":
        story = explain_input(origin)
    elif origin.phase == "weights":
        story = explain_weights(fact, origin, optimizer)
    elif origin.op is None:
        story = _module_only(origin)
    else:
        return _of_op(fact, origin)
    return Story(f": {story.proof}", story.why, story.fix, story.edit)


def _of_op(fact: NonFinite, origin: Origin) -> Story:
    case, story = explain_op(origin)
    made = origin.made or "value that is not finite"
    proof = f", {story.proof}" if story.proof else ""
    why = " ".join(part for part in (_nature(fact, case), story.why, _then(origin), _read_how(fact)) if part)
    return Story(f": {_maker(case)} made the first {made}{proof}", why, story.fix, story.edit)


def _maker(case: Case) -> str:
    """`torch.log(p)` in `net.head` at train.py:31, the backward of it where it is that"""
    module = f" in `{case.origin.module}`" if case.origin.module else ""
    what = f"the backward of {case.shown()}" if case.backward else case.shown()
    return f"{what}{module}{line_of(case.origin.place)}"


def _nature(fact: NonFinite, case: Case) -> str:
    if is_custom(case.origin):
        return f"`{case.origin.op}` has a backward of its own, and that is where it was made."
    return "The loss itself was finite." if case.backward and fact.what == "gradient" else ""


def _then(origin: Origin) -> str:
    if not origin.into_nan:
        return ""
    reason = _INTO_NAN.get(origin.into_nan)
    told = f": {reason}" if reason else ""
    return f"Then `{origin.into_nan}`{line_of(origin.into_nan_place)} made NaN of it{told}."


def _read_how(fact: NonFinite) -> str:
    if fact.how == "anomaly":
        return "Autograd's anomaly mode named the op: the step could not be run again to see its numbers."
    if fact.how != "graph":
        return ""
    return "This was read off the autograd graph: the step could not be run again."


def _module_only(origin: Origin) -> Story:
    kind = "gradient" if origin.phase == "backward" else "output"
    if origin.module:
        proof = f"`{origin.module}` is the first module whose {kind} was not finite"
    else:
        proof = f"it began {_PHASES.get(origin.phase, 'in the forward pass')}"
    return Story(f"{proof}{line_of(origin.place)}", "Which op in it made the value could not be seen.", _EDGES)


def _late(fact: NonFinite) -> Story:
    origin = fact.origin
    held = f"; {were(fact)} not finite by then" if fact.what == "loss" and fact.parameters else ""
    module = f", first in `{origin.module}`" if origin and origin.module else ""
    why = (
        "Nothing waits for a look at the numbers on the device, and when it was seen the step could not be run "
        "again: the step is certain, the op is not known."
    )
    return Story(f"{module}, seen some steps later{held}", why, f"{_STOP} {_EDGES}")


def _nothing_found(fact: NonFinite) -> Story:
    again = ", but {} was run again and gave finite numbers"
    if fact.how == "model":
        after = "after it, where the loss is computed," if fact.what == "loss" else "in the backward pass"
        why = f"So it was made {after} or it does not repeat."
        return Story(again.format("the model's forward"), why, f"{_EDGES} {_FOLLOW}")
    if fact.how == "step":
        why = (
            "What made it does not repeat. Random numbers from outside of torch, something that the step has "
            "changed since, or a kernel that is not deterministic can be the reason."
        )
        return Story(again.format("the step"), why, f"{_FOLLOW} {_EDGES}")
    why = "What made it could not be seen: the step could not be run again, and its graph shows no such op."
    return Story("", why, f"{_FOLLOW} {_EDGES}")
