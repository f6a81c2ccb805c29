"""`count_parameters`: the function that every guide writes anew, as a result that shows itself."""

from __future__ import annotations

import json

import torch
from torch import nn

from tests.anatomy.architectures import ARCHITECTURES
from tests.anatomy.models import unusual, vision
from torch_debugger import count_parameters


def test_it_unpacks_into_total_and_trainable() -> None:
    total, trainable = count_parameters(unusual.Frozen())
    assert (total, trainable) == (130, 8)


def test_it_shows_what_the_guides_print() -> None:
    assert str(count_parameters(unusual.Frozen())) == (
        "Total parameters: 130 (520 B)\n"
        "Trainable parameters: 8\n"
        "Non-trainable parameters: 122\n"
        "Buffers: 9 (40 B)\n"
        "\n"
        "Per-layer parameters:\n"
        "backbone.0.weight: 108\n"
        "backbone.0.bias: 4\n"
        "backbone.1.weight: 4\n"
        "backbone.1.bias: 4\n"
        "head.weight: 8\n"
        "head.bias: 2"
    )


def test_it_is_what_torch_itself_lists() -> None:
    for name, architecture in ARCHITECTURES.items():
        model = architecture.model()
        count = count_parameters(model)
        assert count.by_parameter == {key: value.numel() for key, value in model.named_parameters()}, name
        assert count.total == sum(count.by_module.values()) == sum(count.by_parameter.values())
        assert count.bytes == sum(value.nbytes for value in model.parameters())
        assert count.buffers == sum(value.numel() for value in model.buffers())


def test_by_module_has_the_direct_children_and_the_models_own() -> None:
    assert count_parameters(unusual.HoldsParameters()).by_module == {"": 8, "extra": 24, "heads": 45}


def test_tied_weights_are_counted_where_they_are_first() -> None:
    count = count_parameters(unusual.TiedEmbeddings())
    assert (count.total, count.by_module) == (140, {"embedding": 120, "decoder": 20})


def test_parameters_stand_in_the_order_of_the_model() -> None:
    model = nn.ModuleDict({"words": nn.Embedding(5, 4), "body": nn.Linear(4, 4), "head": nn.Linear(4, 5, bias=False)})
    model["head"].weight = model["words"].weight
    assert list(count_parameters(model).by_parameter) == [name for name, _ in model.named_parameters()]
    assert list(count_parameters(model).by_module) == ["words", "body"]


def test_wrappers_do_not_show() -> None:
    expected = count_parameters(vision.LeNet()).to_dict()
    assert count_parameters(torch.compile(nn.DataParallel(vision.LeNet()))).to_dict() == expected


def test_lazy_parameters_are_named_and_not_counted() -> None:
    count = count_parameters(unusual.Lazy())
    assert count.total == 0
    assert "No size yet, and not counted: conv.weight, conv.bias, norm.weight" in str(count)


def test_programs_and_notebooks_read_it() -> None:
    count = count_parameters(unusual.MLP())
    assert json.loads(json.dumps(count.to_dict()))["trainable"] == 212
    assert count._repr_html_().startswith("<pre>Total parameters: 212")
