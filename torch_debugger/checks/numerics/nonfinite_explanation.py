"""A NonFinite record as the words of a finding: message, why, fix and edit."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable

from torch_debugger.checks.crashes.user_code import calls_of, rewritten, with_argument
from torch_debugger.checks.numerics import nonfinite_domains as angles
from torch_debugger.checks.numerics import nonfinite_overflows as arithmetic
from torch_debugger.checks.numerics.nonfinite_operation import (
    OpCase,
    Story,
    described,
    line_of,
    number,
    parameters_text,
    read_case,
    share,
)
from torch_debugger.records import NonFinite, Operand, OptimizerFact, Origin

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
_READ = {
    "anomaly": "Autograd's anomaly mode named the op: the step could not be run again to see its numbers.",
    "graph": "This was read off the autograd graph: the step could not be run again.",
}
_PHASES = {"loss": "between the model's output and the loss", "backward": "in the backward pass"}
_EDGES = (
    "Look for a log, root, division or exp at the edge of its range; if the loss grew before, lower the learning rate."
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
        kind = "gradient" if origin.phase == "backward" else "output"
        if origin.module:
            proof = f"`{origin.module}` is the first module whose {kind} was not finite"
        else:
            proof = f"it began {_PHASES.get(origin.phase, 'in the forward pass')}"
        story = Story(f"{proof}{line_of(origin.place)}", "Which op in it made the value could not be seen.", _EDGES)
    else:
        case, story = explain_op(origin)
        module = f" in `{origin.module}`" if origin.module else ""
        # `torch.log(p)` in `net.head` at train.py:31, the backward of it where it is that
        maker = f"{'the backward of ' if case.backward else ''}{case.shown()}{module}{line_of(origin.place)}"
        made = origin.made or "value that is not finite"
        proof = f", {story.proof}" if story.proof else ""
        nature = then = ""
        if is_custom(origin):
            nature = f"`{origin.op}` has a backward of its own, and that is where it was made."
        elif case.backward and fact.what == "gradient":
            nature = "The loss itself was finite."
        if origin.into_nan:
            reason = _INTO_NAN.get(origin.into_nan)
            because = f": {reason}" if reason else ""
            then = f"Then `{origin.into_nan}`{line_of(origin.into_nan_place)} made NaN of it{because}."
        why = " ".join(part for part in (nature, story.why, then, _READ.get(fact.how, "")) if part)
        return Story(f": {maker} made the first {made}{proof}", why, story.fix, story.edit)
    return Story(f": {story.proof}", story.why, story.fix, story.edit)


def _late(fact: NonFinite) -> Story:
    origin = fact.origin
    weights = f"; {were(fact)} not finite by then" if fact.what == "loss" and fact.parameters else ""
    module = f", first in `{origin.module}`" if origin and origin.module else ""
    why = (
        "Nothing waits for a look at the numbers on the device, and when it was seen the step could not be run "
        "again: the step is certain, the op is not known."
    )
    return Story(f"{module}, seen some steps later{weights}", why, f"{_STOP} {_EDGES}")


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


# Which explainers know an op, and what they say of one that made a NaN or Inf.
Explain = Callable[[OpCase], Story | None]

_FAMILIES: dict[Explain, tuple[str, ...]] = {
    angles.explain_log: ("log", "log2", "log10", "xlogy"),
    angles.explain_log1p: ("log1p",),
    angles.explain_logit: ("logit",),
    angles.explain_root: ("sqrt", "rsqrt"),
    angles.explain_power: ("pow",),
    angles.explain_norm: ("norm", "cdist", "pairwise_distance"),
    angles.explain_two_zeros: ("hypot", "atan2"),
    angles.explain_unit_vector: ("normalize", "cosine_similarity"),
    angles.explain_quotient: ("div", "reciprocal", "remainder", "floor_divide"),
    arithmetic.explain_exponential: ("exp", "expm1", "exp2", "sinh", "cosh"),
    angles.explain_angle: ("acos", "asin", "atanh", "erfinv"),
    angles.explain_acosh: ("acosh",),
    arithmetic.explain_spread: ("std", "var"),
    arithmetic.explain_product: ("prod", "cumprod"),
    arithmetic.explain_normalization: ("layer_norm", "batch_norm", "group_norm", "instance_norm", "rms_norm"),
    arithmetic.explain_class_loss: ("cross_entropy", "nll_loss"),
    arithmetic.explain_binary_cross_entropy: ("binary_cross_entropy",),
    arithmetic.explain_kl_divergence: ("kl_div",),
    arithmetic.explain_gaussian_nll: ("gaussian_nll_loss",),
    arithmetic.explain_poisson_nll: ("poisson_nll_loss",),
    arithmetic.explain_ctc: ("ctc_loss",),
    angles.explain_gamma: ("lgamma", "digamma", "polygamma"),
    angles.explain_decomposition: ("svd", "eigh", "eig"),
    angles.explain_determinant: ("inv", "logdet", "slogdet"),
}
_BY_OP = {op: explain for explain, ops in _FAMILIES.items() for op in ops}
_BEFORE: tuple[Explain, ...] = (arithmetic.explain_masked_row, arithmetic.explain_empty)
_AFTER: tuple[Explain, ...] = (arithmetic.explain_infinite, arithmetic.explain_overflow, angles.explain_constant)


def explain_op(origin: Origin) -> tuple[OpCase, Story]:
    """What the operands prove; where they prove nothing, what is known and no more."""
    case = read_case(origin, origin.op or "")
    if origin.selected_by:
        before = dataclasses.replace(case, origin=dataclasses.replace(origin, phase="forward"))
        return case, arithmetic.explain_selected(case, _explained(before) or _explained(case))
    story = _explained(case)
    if story is None and origin.inner and case.op not in _BY_OP:
        # Of an op that no explainer knows: the op inside it, where the line shows that one.
        forward = dataclasses.replace(origin, phase="forward" if is_custom(origin) else origin.phase)
        inner = read_case(forward, origin.inner)
        story = _explained(inner) if inner.written.node is not None else None
    return case, story or _general(case)


def _explained(case: OpCase) -> Story | None:
    known = _BY_OP.get(case.op)
    explainers = (*_BEFORE, *([known] if known else []), *_AFTER)
    return next((story for explain in explainers if (story := explain(case)) is not None), None)


def is_custom(origin: Origin) -> bool:
    """Ops of torch are written small; an autograd.Function goes by the name of its class."""
    return origin.phase == "backward" and (origin.op or "")[:1].isupper()


def _general(case: OpCase) -> Story:
    if not case.finite:
        return _of_not_finite(case)
    given = [described(operand, case.name(index)) for index, operand in enumerate(case.origin.operands[:3])]
    inside = f"Inside it, `{case.origin.inner}` made it. " if case.origin.inner else ""
    grown = "a division, root or log near 0, or numbers that grew out of the range of the dtype"
    shown = "These numbers alone do not show why" if given else "What went into it is not known"
    why = f"{inside}{shown}: look for {grown}."
    spot = "its backward" if is_custom(case.origin) else "this line"
    fix = (
        f"Look at what goes into {spot}: `torch-debugger run --on-nan break` stops there with a prompt. "
        "If the loss grew before, lower the learning rate."
    )
    return Story(f"given {' and '.join(given)}" if given else "", why, fix)


def _of_not_finite(case: OpCase) -> Story:
    """An op whose input had been let through, as a later `nanmean` would have left it out."""
    bad = [(index, each) for index, each in enumerate(case.origin.operands) if each.nans or each.infs]
    given = [described(operand, case.name(index)) for index, operand in bad[:2]]
    slope = ", and neither is the slope there: 0 times NaN is NaN, so leaving the result out later does not help"
    why = f"What went into it was not finite already{slope if case.backward else ''}."
    name = case.bare_name(bad[0][0])
    fix = (
        "Leave those values out before this op, not after it: select the ones that are finite with a mask, or "
        "fill the others, as `torch.where(torch.isfinite(x), x, 0.0)` does for a tensor `x` that goes into "
        f"{f'`{name}`' if name not in 'xy' else 'it'}."
    )
    return Story(f"given {' and '.join(given)}", why, fix)


# NaN and Inf that came in with the data.
_LABEL = re.compile(r"(?:^|[^a-z])(?:y|ys|targets?|labels?|truth|gt)(?:$|[^a-z])", re.IGNORECASE)
_SHOWN = 3


def explain_input(origin: Origin) -> Story:
    name = f"`{origin.given}`" if origin.given else "a tensor of the batch"
    rows = f", in {_listed('row', origin.rows)} of the batch" if origin.rows else ""
    where = rows + (f" ({_listed('sample', origin.samples)} of the dataset)" if origin.samples else "")
    shares = _not_finite(origin.operands[0], name) if origin.operands else ""
    proof = f"{shares or f'{name} is not finite'}{where}"
    if origin.given and _LABEL.search(origin.given):
        why = "It is in the data, not made by an op: a loss of a target that is not finite is not finite."
        fix = (
            f"{_look(origin)} Leave samples without a label out: `ok = torch.isfinite({origin.given})`, and "
            "take the loss over `ok` alone."
        )
    else:
        why = "It is in the data, not made by an op: whatever is computed from it is not finite either."
        fix = f"{_look(origin)} Drop such samples, or fill the gaps where the data is loaded."
    return Story(proof, why, fix)


def _not_finite(operand: Operand, name: str) -> str:
    """3 of 640 values of `x` are NaN"""
    kinds = ((operand.nans, "NaN"), (operand.infs, "Inf"))
    return " and ".join(share(count, operand, name, word) for count, word in kinds if count)


def _listed(word: str, numbers: tuple[int, ...]) -> str:
    """row 2; rows 2, 5 and 9; rows 2, 5, 9 and more"""
    if len(numbers) == 1:
        return f"{word} {numbers[0]}"
    shown = [str(number) for number in numbers[:_SHOWN]]
    if len(numbers) > _SHOWN:
        return f"{word}s {', '.join(shown)} and more"
    return f"{word}s {', '.join(shown[:-1])} and {shown[-1]}"


def _look(origin: Origin) -> str:
    if origin.samples:
        return f"Look at {_listed('sample', origin.samples)} of the dataset (`dataset[{origin.samples[0]}]`)."
    flat = bool(origin.operands) and len(origin.operands[0].shape) == 1
    return f"Find them with `torch.isfinite({origin.given or 'x'}){'' if flat else '.flatten(1).all(1)'}`."


# Weights that were not finite before the first update, or became so by one.
_EPS = re.compile(r"\beps\s*=\s*[0-9][0-9.eE+-]*")
_HUGE_RATE = 1e3
_SMALLEST_HALF = 6e-8  # below half of it a number is 0 in float16
_EMPTY = re.compile(r"torch\.empty\(|torch\.(?:Float)?Tensor\(")


def explain_weights(fact: NonFinite, origin: Origin, optimizer: OptimizerFact | None) -> Story:
    # It was the update, and not a gradient that nobody looked at.
    sure = fact.gradients_seen or bool(_blamed_setting(fact, origin, "")[0])
    if (fact.update or (fact.what == "weight" and fact.optimizer)) and sure:
        return _by_update(fact, origin, optimizer)
    if fact.step == 1:
        return _from_the_start(fact, origin)
    why = "An earlier update, or the script itself, wrote them; the step that did so was not seen."
    fix = (
        "Run again with `torch-debugger run --on-nan stop`, which looks at every update. If the loss grew "
        "before, lower the learning rate."
    )
    return Story(f"{were(fact)} not finite before this step", why, fix)


def were(fact: NonFinite) -> str:
    """`net.fc.weight` was; `net.fc.weight` and 3 more parameters were"""
    return f"{parameters_text(fact.parameters)} {'was' if len(fact.parameters) == 1 else 'were'}"


def _from_the_start(fact: NonFinite, origin: Origin) -> Story:
    made = line_of(origin.place)
    single = origin.operands and len(fact.parameters) == 1
    shares = _not_finite(origin.operands[0], f"`{fact.parameters[0]}`") if single else ""
    proof = f"{shares or f'{were(fact)} not finite'} before the first update"
    if _EMPTY.search(origin.place.code or ""):
        name = fact.parameters[0].rpartition(".")[2] if fact.parameters else "weight"
        why = f"It is made{made} without values: `torch.empty` reserves memory and leaves in it what was."
        fix = f"Fill it there: `nn.init.xavier_uniform_(self.{name})` for a matrix, `torch.zeros` for a bias."
        return Story(proof, why, fix)
    why = f"No update had been made: the values that were given{made} at the start are not finite."
    fix = "Look at how they are made: `torch.empty` without a fill, a checkpoint with NaN, a division by 0."
    return Story(proof, why, fix)


def _by_update(fact: NonFinite, origin: Origin, optimizer: OptimizerFact | None) -> Story:
    name = f"`{fact.optimizer}`" if fact.optimizer else "the optimizer"
    kind = f" ({optimizer.kind})" if optimizer else ""
    left = f"left {parameters_text(fact.parameters)} {origin.made or 'not finite'}"
    made = "made it" if fact.what == "weight" else left
    at = line_of(fact.site) if fact.what == "weight" else ""  # seen by the loss of the next step, it is that one's
    proof = f"the update of {name}{kind}{at} {made}{', from finite gradients' if fact.gradients_seen else ''}"
    setting, why, fix = _blamed_setting(fact, origin, name)
    edit = None
    if setting == "eps" and optimizer:  # the line that makes the optimizer, with another eps or with one at all
        code, eps = optimizer.place.code or "", f"eps={_eps_for(origin)}"
        calls = calls_of(code, optimizer.kind)
        if _EPS.search(code):
            edit = rewritten(optimizer.place, code, _EPS.sub(eps, code))
        elif len(calls) == 1 and (changed := with_argument(calls[0], eps)):
            edit = rewritten(optimizer.place, calls[0], changed)
    used = f", with {setting} = {number(fact.update[setting])}" if setting else ""
    return Story(proof + used, why, fix, edit)


def _blamed_setting(fact: NonFinite, origin: Origin, name: str) -> tuple[str, str, str]:
    """The setting that makes such an update; its mathematics; what to do."""
    broken = next((key for key, value in fact.update.items() if not math.isfinite(value)), None)
    if broken is not None:
        why = f"Every step is computed with `{broken}`, and that is {number(fact.update[broken])}."
        return broken, why, f"Find out where `{broken}` of {name} is computed; a schedule may divide by 0."
    half = _eps_for(origin) != "1e-8"
    if fact.update.get("eps") == 0 or (half and 0 < fact.update.get("eps", 1.0) < _SMALLEST_HALF / 2):
        zero = "eps is 0" if fact.update["eps"] == 0 else "eps is 0 in float16"
        why = f"The step divides by sqrt(v) + eps, v a mean of squared gradients; {zero}. Where v is 0 too, "
        fix = f"Give {name} `eps={_eps_for(origin)}`{', or keep the weights in float32' if half else ''}."
        return "eps", f"{why}0 / 0 is NaN.", fix
    if abs(fact.update.get("lr", 0.0)) >= _HUGE_RATE:
        why = "The step is multiplied by the learning rate: with one this large it leaves the range of the dtype."
        return "lr", why, f"Lower `lr` of {name}; usual rates lie between 1e-5 and 1."
    why = "The gradients were finite, the weights are not: the step was too large for the dtype, or divided by 0."
    fix = f"Look at the settings of {name} and what a schedule makes of them; lower `lr`, raise `eps` to 1e-8."
    return "", why, fix


def _eps_for(origin: Origin) -> str:
    return "1e-4" if any(operand.dtype == "float16" for operand in origin.operands) else "1e-8"
