"""What cannot be counted is said; what needs values runs really; the model stays as it is."""

from __future__ import annotations

import json
from typing import Any

import numpy
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.anatomy.test_flops import Calls
from tests.pictures.models import Convolutional, Recurrent, VisionTransformer, images, tokens
from tests.untouched_models import model_untouched
from torch_debugger import flops
from torch_debugger.system.errors import UsageError

ONCE = 2 * 8 * 8  # a Linear(8, 8) on two rows


@torch.library.custom_op("torch_debugger_tests::triple", mutates_args=())
def triple(x: torch.Tensor) -> torch.Tensor:
    return 3 * x


def test_a_custom_operation_is_listed_with_its_share_and_line() -> None:
    model = Calls(lambda self, x: self.fc(triple(x)), fc=nn.Linear(8, 8, bias=False))
    count = flops(model, torch.randn(2, 8))
    assert count.macs == ONCE
    [missing] = count.uncounted
    assert missing.op == "torch_debugger_tests::triple"
    assert (missing.calls, missing.call_share) == (1, 0.5)
    assert missing.bytes == 4 * (16 + 16)
    assert missing.byte_share == missing.bytes / count.bytes
    assert missing.places[0].code.startswith("model = Calls(lambda self, x: self.fc(triple(x))")
    assert f"torch_debugger_tests::triple: 1 call (50.0%), {missing.byte_share:.1%} of the bytes" in str(count)


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x @ x

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return grad @ x.T + x.T @ grad


class Elsewhere(torch.autograd.Function):
    """Computes where torch cannot be watched."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(numpy.tanh(x.detach().numpy()))

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad


class Turned(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return -grad


def test_an_autograd_function_of_torch_operations_is_counted() -> None:
    count = flops(Calls(lambda self, x: Squared.apply(x)), torch.randn(8, 8, requires_grad=True), backward=True)
    assert count.forward.macs == 8 * 8 * 8
    assert count.backward.macs == 2 * (8 * 8 * 8)
    assert not count.uncounted


def test_an_autograd_function_that_computes_elsewhere_is_listed() -> None:
    model = Calls(lambda self, x: Turned.apply(Elsewhere.apply(self.fc(x))), fc=nn.Linear(8, 8))
    count = flops(model, torch.randn(2, 8), backward=True)
    assert [each.op for each in count.uncounted] == ["Elsewhere (autograd.Function)"]
    assert count.uncounted[0].places[0].line
    assert count.note.startswith("counted on a real run, because shapes were not enough: ")
    assert count.forward.macs == ONCE
    assert not hasattr(torch.autograd.Function.apply.__func__, "__wrapped__")


@pytest.mark.parametrize(
    ("function", "op"),
    [
        (lambda x: torch.fft.rfft(x).abs(), "_fft_r2c"),
        (lambda x: torch.linalg.inv(x), "linalg_inv_ex"),
        (lambda x: torch.cdist(x, x, p=1), "_cdist_forward"),
    ],
)
def test_operations_without_a_formula_are_listed(function: Any, op: str) -> None:
    count = flops(Calls(lambda self, x: function(x)), torch.randn(2, 8, 8))
    assert [each.op for each in count.uncounted] == [op]
    assert count.macs == 0


def test_losses_and_layers_of_every_day_are_all_known() -> None:
    layers = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.SiLU(inplace=True), nn.PixelShuffle(2),
        nn.Upsample(scale_factor=2, mode="bilinear"), nn.GroupNorm(1, 2), nn.Dropout2d(0.1), nn.Hardswish(),
        nn.ReflectionPad2d(1), nn.AvgPool2d(2), nn.InstanceNorm2d(2), nn.AdaptiveMaxPool2d(2), nn.Flatten(),
        nn.LayerNorm(8), nn.PReLU(), nn.GELU(), nn.Mish(), nn.Linear(8, 8), nn.GLU(), nn.LogSoftmax(-1),
    )  # fmt: skip

    def losses(self: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        scores = self.layers(x)
        hot = F.one_hot(y, 4).float()
        smooth = F.smooth_l1_loss(scores, hot) + F.mse_loss(scores, hot) + F.l1_loss(scores, hot)
        probable = F.binary_cross_entropy_with_logits(scores, hot) + F.kl_div(scores, scores.exp())
        return F.nll_loss(scores, y) + smooth + probable + F.cosine_similarity(scores, hot).mean()

    count = flops(Calls(losses, layers=layers), images(), torch.tensor([1, 3]), backward=True)
    assert not count.uncounted, count.uncounted
    assert not count.note


def test_a_forward_that_needs_a_value_runs_really_and_says_so() -> None:
    model = Calls(lambda self, x: self.fc(x) * x.sum().item(), fc=nn.Linear(8, 8))
    x = torch.randn(2, 8)
    with model_untouched(model, x):
        count = flops(model, x, backward=True)
    assert (count.forward.macs, count.backward.macs) == (ONCE, ONCE)
    assert "forward asks for the value of a tensor" in count.note
    assert "test_flops_limits.py:" in count.note
    assert count.note in str(count)
    assert flops(model, (2, 8)).macs == ONCE, "a size is filled with ones"


def test_what_a_mask_chooses_is_never_guessed() -> None:
    """Experts of which each sees the rows that another layer chose for it."""

    def route(self: Any, x: torch.Tensor) -> torch.Tensor:
        chosen, made = self.gate(x).argmax(-1), torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            made[chosen == number] = expert(x[chosen == number])
        return made

    experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))
    count = flops(Calls(route, gate=nn.Linear(8, 2), experts=experts), torch.randn(6, 8))
    assert count.macs == 6 * 8 * 2 + 6 * 8 * 8, "each row sees one expert"
    assert "depends on its values" in count.note


def test_functions_that_torch_is_given_are_listed() -> None:
    def branch(self: Any, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda y: y @ y, lambda y: y + y, (x,))

    count = flops(Calls(branch), torch.ones(4, 4))
    assert [each.op for each in count.uncounted] == ["cond"]


def test_nested_tensors_are_counted_by_their_own_lengths() -> None:
    def run(self: Any, x: torch.Tensor, layout: torch.layout) -> torch.Tensor:
        return self.fc(torch.nested.nested_tensor([x[0], x[1, :3]], layout=layout))

    model = Calls(run, fc=nn.Linear(8, 8))
    for layout in (torch.strided, torch.jagged):
        assert flops(model, torch.randn(2, 5, 8), layout).macs == (5 + 3) * 8 * 8

    def square(self: Any, x: torch.Tensor) -> torch.Tensor:
        rows = torch.nested.nested_tensor([x[0], x[1, :3]])
        return torch.nested.to_padded_tensor(rows @ rows.transpose(1, 2), 0.0)

    assert flops(Calls(square), torch.randn(2, 5, 8)).macs == (5 * 5 + 3 * 3) * 8


def test_whole_numbers_keep_their_values() -> None:
    def run(self: Any, x: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        for _ in range(int(ids.max())):
            x = self.fc(x)
        return self.fc(x[ids > 1])

    count = flops(Calls(run, fc=nn.Linear(8, 8)), torch.randn(3, 8), torch.tensor([1, 2, 3]))
    assert count.macs == 3 * (3 * 8 * 8) + 2 * 8 * 8
    assert not count.note


def test_a_large_mask_takes_no_memory() -> None:
    def run(self: Any, x: torch.Tensor) -> torch.Tensor:
        place = torch.arange(x.shape[1])
        mask = place[:, None] >= place  # a million by a million
        return torch.zeros(10**6, 10**6).masked_fill(mask, 1) @ x[0]

    assert flops(Calls(run), torch.empty(1, 10**6, 2, device="meta")).macs == 10**12 * 2


@pytest.mark.parametrize(
    ("maker", "inputs"), [(Convolutional, images), (Recurrent, tokens), (VisionTransformer, images)]
)
@pytest.mark.parametrize("training", [True, False])
def test_nothing_of_the_model_changes(maker: type[nn.Module], inputs: Any, training: bool) -> None:
    model, x = maker().train(training), inputs()
    model(x).sum().backward()
    with model_untouched(model, x):
        flops(model, x, backward=True)
        with torch.inference_mode():
            flops(model, x, backward=True)


class Cache:
    def __init__(self) -> None:
        self.keys: list[torch.Tensor] = []
        self.last: torch.Tensor | None = None

    def add(self, key: torch.Tensor) -> torch.Tensor:
        self.keys.append(key)
        self.last = key
        return torch.cat(self.keys)


@pytest.mark.parametrize("factor", [1.0, None], ids=["on shapes", "on a real run"])
def test_objects_that_forward_writes_into_are_put_back(factor: float | None) -> None:
    def run(self: Any, x: torch.Tensor, given: Cache) -> torch.Tensor:
        return given.add(self.own.add(self.fc(x))) * (factor or x.sum().item())

    model, given = Calls(run, fc=nn.Linear(8, 8)), Cache()
    model.own = Cache()
    before = given.add(torch.ones(1, 8))
    assert flops(model, torch.randn(2, 8), given, backward=True).forward.macs == ONCE
    assert model.own.keys == []
    assert model.own.last is None
    assert [key.tolist() for key in given.keys] == [before.tolist()]
    assert given.last is given.keys[0]


def test_a_parameter_that_no_module_owns_gets_no_gradient() -> None:
    loose = torch.randn(8, 8, requires_grad=True)
    count = flops(Calls(lambda self, x: x @ loose), torch.randn(2, 8), backward=True)
    assert count.backward.macs == ONCE
    assert loose.grad is None


def test_halves_channels_last_and_wrappers() -> None:
    model = Convolutional()
    macs = flops(model, images()).macs
    assert macs == 2 * 16 * 16 * 8 * 75 + 2 * 8 * 8 * 12 * 72 + 2 * 12 * 4
    assert flops(nn.DataParallel(model), images()).macs == macs
    assert flops(model.to(memory_format=torch.channels_last), images()).macs == macs
    assert flops(model.bfloat16(), images().bfloat16(), device="H200").machine.peak_flops == 989e12
    assert flops(model.half(), images().half(), backward=True).forward.macs == macs


def test_autocast_inside_of_a_forward_decides_the_dtype() -> None:
    def run(self: Any, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return self.fc(x)

    count = flops(Calls(run, fc=nn.Linear(8, 8)), torch.randn(2, 8), device="A100")
    assert count.machine.peak_flops == 312e12
    assert count.macs == ONCE


def test_inputs_by_name_by_size_and_on_meta() -> None:
    model = Calls(lambda self, x, y: x @ y)
    assert flops(model, (2, 3), (3, 4)).macs == 24
    assert flops(model, {"x": torch.randn(2, 3), "y": torch.randn(3, 4)}).macs == 24
    assert flops(model, (torch.randn(2, 3), torch.randn(3, 4))).macs == 24
    assert flops(model, x=torch.randn(2, 3), y=torch.empty(3, 4, device="meta")).macs == 24
    words = nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 3))
    assert flops(words, (2, 5)).macs == 2 * 5 * 4 * 3, "a size of tokens is found by trying"
    assert flops(nn.Linear(8, 8).to("meta"), torch.empty(2, 8, device="meta"), backward=True).macs == 2 * ONCE
    assert flops(model, input_size=[(2, 3), (3, 4)]).macs == 24
    assert flops(model, input_size={"x": (2, 3), "y": (3, 4)}).macs == 24


def test_a_list_of_images_is_one_argument_where_forward_takes_one() -> None:
    model = Calls(lambda self, images: [self.fc(image) for image in images], fc=nn.Linear(8, 8))
    assert flops(model, [torch.randn(2, 8), torch.randn(2, 8)]).macs == 2 * ONCE
    stacked = Stacked()
    assert flops(stacked, [torch.randn(2, 8), torch.randn(2, 8)]).macs == 2 * ONCE
    assert flops(stacked, [torch.randn(2, 8), torch.randn(2, 8)], backward=True).backward.macs == 2 * ONCE


class Stacked(nn.Module):
    """As detectors are called: with a list of images, and maybe with a list of targets."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, images: list[torch.Tensor], targets: Any = None) -> torch.Tensor:
        return self.fc(torch.stack(images))


def test_a_lazy_model_is_counted_and_stays_lazy() -> None:
    model = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(5))
    by_hand = 36 * 4 * 27 + 36 * 4 * 5
    drawn = torch.get_rng_state()
    assert flops(model, (1, 3, 8, 8)).macs == by_hand
    assert flops(model, torch.ones(2, 3, 8, 8), backward=True).forward.macs == 2 * by_hand
    assert torch.equal(torch.get_rng_state(), drawn)
    assert all(nn.parameter.is_lazy(value) for value in model.parameters())
    assert all(module.training for module in model.modules())
    with pytest.raises(RuntimeError, match="same dtype"):
        flops(nn.LazyLinear(8), torch.zeros(2, dtype=torch.long))


def test_the_distances_of_many_points_are_a_product() -> None:
    points, codes = torch.randn(30, 8), torch.randn(40, 8)
    count = flops(Calls(lambda self, x, y: torch.cdist(x, y)), points, codes.requires_grad_(), backward=True)
    assert count.forward.macs == 30 * 40 * 8
    assert count.backward is not None
    assert count.backward.macs >= 30 * 40 * 8
    assert not count.uncounted


def test_mistakes_are_told_in_a_sentence() -> None:
    with pytest.raises(UsageError, match="expected a model, an `nn\\.Module`, but got int"):
        flops(3, (2, 8))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a size has no negative lengths"):
        flops(nn.Linear(8, 8), (-1, 8))
    with pytest.raises(UsageError, match="backward=True needs an output that a gradient can flow from"):
        flops(nn.Linear(8, 8).requires_grad_(False), (2, 8), backward=True)
    with pytest.raises(UsageError, match="no figures are known for 'H900': give peak_flops and bandwidth"):
        flops(nn.Linear(8, 8), (2, 8), device="H900")
    with pytest.raises(UsageError, match="a roofline needs both peak_flops"):
        flops(nn.Linear(8, 8), (2, 8), bandwidth=1e12)
    with pytest.raises(UsageError, match=r"flops needs what forward takes: flops\(model, images\)"):
        flops(nn.Linear(8, 8))
    with pytest.raises(UsageError, match="flops takes inputs or input_size, not both"):
        flops(nn.Linear(8, 8), torch.randn(2, 8), input_size=(2, 8))
    with pytest.raises(UsageError, match="input_size='2,8' is no size"):
        flops(nn.Linear(8, 8), input_size="2,8")


def test_an_error_of_the_models_own_passes_through() -> None:
    with pytest.raises(RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied \(2x9 and 8x8\)"):
        flops(nn.Linear(8, 8), torch.randn(2, 9))
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        flops(nn.Linear(8, 8), (2, 9))

    def fail(self: Any, x: torch.Tensor) -> torch.Tensor:
        raise KeyError("vocabulary")

    with pytest.raises(KeyError, match="vocabulary"):
        flops(Calls(fail), torch.randn(2, 8))


def test_the_result_is_plain_data() -> None:
    count = flops(Convolutional(), images(), backward=True, peak_flops=1e12, bandwidth=1e11)
    told = json.loads(json.dumps(count.to_dict()))
    assert told["macs"] == count.macs
    assert told["flops"] == 2 * count.macs
    assert told["by_module"]["conv1"]["forward"]["macs"] == 2 * 16 * 16 * 8 * 75
    assert told["machine"] == {"name": "this machine", "peak_flops": 1e12, "bandwidth": 1e11}


def test_the_table_reads_well() -> None:
    count = flops(Convolutional().eval(), images(), backward=True, peak_flops=1e12, bandwidth=2e11)
    assert str(count).splitlines()[:4] == [
        "Convolutional: 418 kMACs = 836 kFLOPs forward (1 MAC = 2 FLOPs)",
        "  529 kMACs = 1.06 MFLOPs backward, 946 kMACs = 1.89 MFLOPs in all",
        f"  besides: {count.elementwise / 1000:.3g} kFLOPs elementwise and in reductions; "
        f"{count.bytes / 1000:.3g} kB read and written; {count.intensity:.3g} FLOPs a byte",
        "  this machine: 1 TFLOPs/s, 200 GB/s: compute-bound from 5 FLOPs a byte; at least 1.92 us",
    ]
    lines = str(count).splitlines()
    assert lines[5].split() == [
        "module", "class", "MACs", "FLOPs", "%", "backward", "MACs", "elementwise", "bytes", "FLOPs/byte",
        "limit",
    ]  # fmt: skip
    [conv] = [line for line in lines if line.startswith("  conv1")]
    assert conv.split()[:7] == ["conv1", "Conv2d", "307", "k", "614", "k", "64.9%"]
    assert conv.endswith("compute-bound")
    assert str(count)[:40] in count._repr_html_()
    assert "&lt;" not in count._repr_html_()
