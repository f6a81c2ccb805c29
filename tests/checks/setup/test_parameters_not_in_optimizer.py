from __future__ import annotations

from tests.fakes import findings_of, ledger, ledger_row, losses, optimizer
from torch_debugger.records import Edit, LedgerFact, LedgerRow, PhaseFact, Record


def missing(name: str, **others: object) -> LedgerRow:
    return ledger_row(name, **{"in_optimizer": False, "changed": None, **others})


ENCODER = (ledger_row("net.encoder.0.weight"), ledger_row("net.encoder.0.bias", 8))
DECODER = tuple(missing(f"net.decoder.{name}") for name in ("0.weight", "0.bias", "2.weight", "2.bias"))


def encoder_only() -> Record:
    return optimizer(
        parameters=("net.encoder.0.weight", "net.encoder.0.bias"),
        source="torch.optim.Adam(net.encoder.parameters(), lr=1e-3)",
    )


def ledgers(*rows: LedgerRow, root: str = "net", steps: tuple[int, ...] = (1, 2)) -> list[LedgerFact]:
    return [ledger(*rows, root=root, step=step) for step in steps]


check = findings_of("parameters-not-in-optimizer")


def test_a_module_left_out_is_named_as_a_whole() -> None:
    (finding,) = check(encoder_only(), *ledgers(*ENCODER, *DECODER))
    assert finding.message == (
        "All 4 parameters of `net.decoder` get a gradient on every step but are in no optimizer: 256 of 328 "
        "trainable values of `net` keep the values they started with."
    )
    assert finding.fix == ("Pass `net.parameters()` to `optimizer` at train.py:28, so that it holds `net.decoder` too.")
    assert (finding.severity, finding.where.module, finding.where.line) == ("error", "net.decoder", 28)
    assert finding.edit == Edit(
        "train.py",
        28,
        "optimizer = torch.optim.Adam(net.encoder.parameters(), lr=1e-3)",
        "optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)",
    )


def test_names_are_those_of_the_script() -> None:
    # the users text for the model may differ from its name
    made = optimizer(parameters=("net.encoder.0.weight",), source="optim.SGD(self.net.encoder.parameters(), lr=0.1)")
    (finding,) = check(made, *ledgers(*ENCODER, *DECODER))
    assert finding.edit is not None and "(self.net.parameters(), lr=0.1)" in finding.edit.after
    (finding,) = check(encoder_only(), *ledgers(*ENCODER, missing("net.scale", elements=1)))
    assert finding.message.startswith("`net.scale` get"), "a single parameter is named itself"


def test_a_layer_replaced_after_the_optimizer_was_made() -> None:
    frozen = (ledger_row("net.features.0.weight", trainable=False, gradient="none", changed=False),)
    made = optimizer(parameters=("net.features.0.weight", "unnamed[1]"), source="Adam(net.parameters(), lr=0.01)")
    (finding,) = check(made, *ledgers(*frozen, missing("net.fc.weight"), missing("net.fc.bias", elements=4)))
    assert finding.fix == (
        "Make `optimizer` at train.py:28 after the line that adds or replaces `net.fc`, not before it."
    )
    assert finding.edit is None


def test_parameters_that_are_held_or_may_be_later_are_silent() -> None:
    # one ledger is not enough
    assert not check(encoder_only(), *ledgers(*ENCODER, *DECODER, steps=(1,)))
    assert not check(encoder_only(), *ledgers(*ENCODER, *DECODER, steps=(1, 1)))
    # an optimizer that comes later ends the suspicion
    held = tuple(ledger_row(row.name) for row in DECODER)
    assert not check(encoder_only(), *ledgers(*ENCODER, *DECODER, steps=(1,)), *ledgers(*ENCODER, *held, steps=(2, 3)))
    other = optimizer(name="slow", parameters=[row.name for row in DECODER])
    assert not check(encoder_only(), other, *ledgers(*ENCODER, *DECODER)), "parameters known to any optimizer are held"
    rows = (
        ledger_row("net.a.weight"),
        missing("net.b.weight", trainable=False),
        missing("net.c.weight", gradient="none"),
        missing("net.d.weight", used=False),
        missing("net.e.weight", changed=True),
        missing("net.f.weight", gradient="zero"),
        missing("net.g.weight", registered=False),
    )
    assert not check(encoder_only(), *ledgers(*rows)), "frozen unused and hand updated parameters"
    # a second model in eval mode is a fixed judge
    phase = PhaseFact("decoder", training=False, grad=True, step=1)
    assert not check(ENCODER_MADE, phase, *ledgers(*DECODER_ROOT, root="decoder"))
    # an optimizer of inputs trains no model
    phase = PhaseFact("net", training=True, grad=True, step=1)
    assert not check(optimizer(parameters=("unnamed[0]",)), phase, *ledgers(missing("net.0.weight")))


def test_an_unfrozen_backbone_is_a_warning_at_the_end_with_both_ways_out() -> None:
    rows = (missing("net.body.weight"), missing("net.body.bias"), ledger_row("net.head.weight"))
    made = optimizer(parameters=("net.head.weight",), source="Adam(net.head.parameters(), lr=1e-3)")
    (finding,) = check(made, *ledgers(*rows))
    assert (finding.severity, finding.confidence) == ("warning", 0.6)
    assert finding.fix.endswith("If `net.body` should stay fixed, freeze it: `net.body.requires_grad_(False)`.")


def test_a_backbone_is_missing_until_an_optimizer_has_taken_it() -> None:
    body, head = missing("net.body.weight"), ledger_row("net.head.weight")
    known = (optimizer(parameters=("net.head.weight",)), *ledgers(body, head), *losses([1.0] * 100))
    assert check(*known)
    assert not check(*known, optimizer(parameters=("net.head.weight", "net.body.weight"), step=60))


def test_a_part_that_has_a_variable_of_its_own_is_exchanged_for_the_whole() -> None:
    rows = (missing("net.encoder.weight"), ledger_row("net.decoder.weight"))
    made = optimizer(parameters=("net.decoder.weight",), source="Adam(decoder.parameters(), lr=1e-3)")
    (finding,) = check(made, *ledgers(*rows))
    assert finding.fix.startswith("Pass `net.parameters()` to `optimizer` at train.py:28")
    assert finding.edit is not None and finding.edit.after == "optimizer = Adam(net.parameters(), lr=1e-3)"


def test_what_was_unfrozen_after_the_optimizer_was_made() -> None:
    frozen = [missing(f"net.body.{name}", trainable=False, gradient="none") for name in ("weight", "bias")]
    unfrozen = [missing(f"net.body.{name}") for name in ("weight", "bias")]
    head = ledger_row("net.head.weight")
    held = optimizer(parameters=("net.head.weight",), source="torch.optim.Adam(trainable, lr=1e-3)")
    later = [*losses([1.0] * 200), *ledgers(*unfrozen, head, steps=(61, 62))]
    (finding,) = check(held, *ledgers(*frozen, head), *later)
    assert (finding.severity, finding.edit) == ("error", None)
    assert finding.fix == (
        "Where `net.body` is unfrozen, give it to `optimizer` too: "
        '`optimizer.add_param_group({"params": net.body.parameters()})`.'
    )
    assert not check(held, *ledgers(*frozen, head), *ledgers(*unfrozen, head, steps=(61,)))


DECODER_ROOT = tuple(missing(f"decoder.{name}") for name in ("up.weight", "up.bias"))
ENCODER_MADE = optimizer(parameters=("encoder.mix.weight",), source="Adam(encoder.parameters())")


def test_a_second_model_in_training_mode_is_part_of_the_training() -> None:
    phase = PhaseFact("decoder", training=True, grad=True, step=1)
    (finding,) = check(ENCODER_MADE, phase, *ledgers(*DECODER_ROOT, root="decoder"))
    assert (finding.severity, finding.confidence) == ("error", 0.8)
    assert finding.fix == (
        "Give `optimizer` at train.py:28 the parameters of `decoder` too: add `list(decoder.parameters())`."
    )
    assert finding.edit is not None
    assert finding.edit.after == "optimizer = Adam(list(encoder.parameters()) + list(decoder.parameters()))"
