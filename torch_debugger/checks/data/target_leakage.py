"""TD212: the target is one of the input columns, or a token that the model can see."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.deliveries import at
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, FutureLook, InputLook, Record, TargetLook


class TargetLeakage(Check):
    """The model is given the target itself: as a column of its table, or as the next token.

    Symptom:
        The model is perfect within an epoch, on validation data too; in use, where the answer is not in the
        table, it fails.
    Evidence:
        On several deep steps a column of the table that goes into the first layer was equal to the target for
        every sample. Or the targets are the tokens of the input, one place on, and an attention over this
        input has weight on the next place, so that a causal mask is missing, or a recurrent layer reads the
        input backwards too.
    Fix:
        Take that column out of the features, in training and in validation; give the attention a causal mask.
    Known limits:
        Only exact copies are seen: a target that was scaled, or hidden in several columns, is not. Tables with
        one or two columns, and models that rebuild their input, are not judged. Of sequences only attention
        and recurrent layers are looked at, and only where one embedding reads the tokens.
    """

    id = "TD212"
    name = "target-leakage"
    title = "the target is among the inputs"
    reads = (TargetLook, InputLook, FutureLook)

    looks_needed = 3  # on different steps
    samples_needed = 8  # in each: fewer may agree by chance
    columns_needed = 5  # of a toy with fewer, one may be the target on purpose
    futures_needed = 2

    def __init__(self) -> None:
        self._input: InputLook | None = None
        self._streak: list[TargetLook] = []
        self._futures: list[FutureLook] = []
        self._reported = False

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, InputLook):
            self._input = record if len(record.shape) == 2 else self._input
        elif isinstance(record, FutureLook) and not self._reported and record.seeing == record.attentions:
            yield from self._see_future(record)
        elif isinstance(record, TargetLook) and not self._reported and self._has_table(record):
            yield from self._see_target(record)

    def _has_table(self, look: TargetLook) -> bool:
        """The columns were looked at in this very step."""
        return self._input is not None and self._input.step == look.step

    def _see_target(self, look: TargetLook) -> Iterable[Finding]:
        columns = self._columns()
        if not columns or len(columns & set(look.copied_to)) != 1 or not self._is_sure(look):
            self._streak.clear()
        else:
            self._streak.append(look)
            if len({look.step for look in self._streak}) >= self.looks_needed and self._input is not None:
                self._reported = True
                yield self._judge(self._input, min(columns & set(look.copied_to)))

    def _see_future(self, look: FutureLook) -> Iterable[Finding]:
        self._futures.append(look)
        if len(self._futures) >= self.futures_needed:
            self._reported = True
            yield self._judge_future(look, self._futures[0].step)

    def _columns(self) -> set[int]:
        """Those that were equal to the target in every look so far."""
        wide = self._input is not None and self._input.shape[1] >= self.columns_needed
        columns = set(range(self._input.shape[1])) if wide and self._input is not None else set()
        for look in self._streak:
            columns &= set(look.copied_to)
        return columns

    def _is_sure(self, look: TargetLook) -> bool:
        return look.shape[0] >= self.samples_needed and len(look.labels) != 1

    def _judge(self, given: InputLook, column: int) -> Finding:
        first, last = self._streak[0], self._streak[-1]
        count = sum(look.shape[0] for look in self._streak)
        return self.finding(
            severity="warning",
            confidence=0.88,
            message=(
                f"Column {column} of the {given.shape[1]} that `{given.layer}` is given{at(given.call)} is the "
                f"target itself: equal for all {count} samples of {len(self._streak)} steps."
            ),
            why=(
                "The model only has to copy that column. It will look perfect wherever the answer is in the "
                "table, and know nothing where it is not."
            ),
            fix=f"Leave column {column} out of the features that reach the model{at(given.call)}.",
            where=given.call,
            first_step=first.step,
            last_step=last.step,
            evidence={"column": float(column), "samples": float(count)},
        )

    def _judge_future(self, look: FutureLook, first: int) -> Finding:
        reader = f"`{look.layer}`" if look.layer else "The attention"
        cause = "it reads them backwards as well" if look.layer else "no causal mask is in effect"
        return self.finding(
            severity="error",
            confidence=0.93,
            message=(
                f"{reader}{at(look.place)} lets each of the {look.length} places of `{look.tokens}` see "
                f"the next one, and the next token is what the loss asks for: {cause}."
            ),
            why=(
                "The model only has to copy the answer from the place after. Its loss falls far below what is "
                "possible, and it writes nonsense where the next token is not there yet."
            ),
            fix=(
                f"Make `{look.layer}` without `bidirectional=True`; its output is half as wide then."
                if look.layer
                else f"Give the attention{at(look.place)} a causal mask: `is_causal=True` in "
                "`scaled_dot_product_attention`, or "
                f"`mask=nn.Transformer.generate_square_subsequent_mask({look.length})`; in scores of your own, "
                "`masked_fill(torch.ones(n, n).triu(1).bool(), float('-inf'))` before the softmax."
            ),
            where=look.place,
            first_step=first,
            last_step=look.step,
            evidence={"attentions": float(look.attentions), "places": float(look.length)},
        )
