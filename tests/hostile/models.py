"""The models: each sets `model` and `parameters`; where the usual do not fit, `make_batch` and `loss_of`."""

from __future__ import annotations

from tests.hostile.grammar import Piece

ALL = "parameters = list(model.parameters())"


def _model(name: str, body: str, **parts: object) -> Piece:
    if "parameters =" not in body:
        body = f"{body}\n{' ' * (len(body) - len(body.lstrip(' ')))}{ALL}"
    return Piece(name, body=body, **parts)  # type: ignore[arg-type]


IMAGES = """
def make_batch():
    return torch.randn(4, 1, 8, 8), torch.randint(0, 3, (4,))
def loss_of(batch):
    return F.cross_entropy(model(batch[0]), batch[1])
"""
TOKENS = """
def make_batch():
    x = torch.randint(0, 20, (4, 6))
    return x, x.roll(-1, 1)
def loss_of(batch):
    return F.cross_entropy(model(batch[0]).flatten(0, 1), batch[1].flatten())
"""
MLP = "model = nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 1))"

MODELS = [
    _model("mlp", MLP),
    _model("conv", IMAGES + """
model = nn.Sequential(
    nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Dropout(0.2), nn.Linear(36, 3),
)
"""),
    _model("lstm", """
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(1, 8, batch_first=True)
        self.head = nn.Linear(8, 1)
    def forward(self, x):
        states, (last, _) = self.rnn(x.unsqueeze(-1))
        return self.head(last[0])
model = Tagger()
"""),
    _model("transformer", TOKENS + """
class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.blocks = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2)
        self.head = nn.Linear(16, 20)
    def forward(self, x):
        return self.head(self.blocks(self.embed(x)))
model = Small()
"""),
    _model("tied_embedding", TOKENS + """
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.head = nn.Linear(16, 20, bias=False)
        self.head.weight = self.embed.weight
    def forward(self, x):
        return self.head(torch.tanh(self.embed(x)))
model = Tied()
"""),
    _model("shared_modules", """
shared = nn.Linear(6, 6)
model = nn.Sequential(shared, nn.Tanh(), nn.Sequential(shared, nn.Tanh()), shared, nn.Linear(6, 1))
"""),
    _model("lazy_modules", """
model = nn.Sequential(nn.LazyLinear(10), nn.ReLU(), nn.LazyLinear(1))
model(torch.zeros(2, 6))
"""),
    _model("weight_norm", """
from torch.nn.utils import parametrizations
model = nn.Sequential(
    parametrizations.weight_norm(nn.Linear(6, 10)), nn.ReLU(), parametrizations.spectral_norm(nn.Linear(10, 1))
)
"""),
    _model("scripted", """
import warnings
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    model = torch.jit.trace(nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 1)), torch.zeros(8, 6))
"""),
    _model("checkpointed", """
from torch.utils.checkpoint import checkpoint
class Saving(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(nn.Linear(6, 10), nn.Dropout(0.1), nn.ReLU())
        self.head = nn.Linear(10, 1)
    def forward(self, x):
        return self.head(checkpoint(self.block, x, use_reentrant=False))
model = Saving()
"""),
    _model("custom_function", """
class Cube(torch.autograd.Function):
    calls = 0
    @staticmethod
    def forward(context, x):
        Cube.calls += 1
        context.save_for_backward(x)
        return x ** 3
    @staticmethod
    def backward(context, gradient):
        Cube.calls += 1
        (x,) = context.saved_tensors
        return 3 * x * x * gradient
class Cubic(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 1)
    def forward(self, x):
        return Cube.apply(self.linear(x))
model = Cubic()
""", after='print("cubed", Cube.calls)'),
    _model("functional", """
from torch.func import functional_call, grad, vmap
model = nn.Linear(6, 1)
parameters = list(model.parameters())
def of_sample(weights, x, y):
    return (functional_call(model, weights, (x,)) - y).pow(2).mean()
def loss_of(batch):
    x, y = batch
    weights = {name: value.detach() for name, value in model.named_parameters()}
    norms = vmap(grad(of_sample), (None, 0, 0))(weights, x, y)["weight"].norm(dim=(1, 2))
    return F.mse_loss(model(x), y) + 0 * norms.sum()
"""),
    _model("thirty_models", """
models = [nn.Linear(6, 1) for _ in range(30)]
parameters = [parameter for each in models for parameter in each.parameters()]
def model(x):
    return sum(each(x) for each in models) / 30
"""),
    _model("deep_nesting", """
model = nn.Linear(6, 1)
for _ in range(500):
    model = nn.Sequential(model)
""", setup="sys.setrecursionlimit(5000)", takes=("recursion",)),
    _model("plain_tensors", """
first = torch.randn(6, 10, requires_grad=True)
second = torch.randn(10, 1, requires_grad=True)
parameters = [first, second]
def model(x):
    return torch.tanh(x @ first) @ second
"""),
    _model("torch_function_subclass", """
class Counted(torch.Tensor):
    calls = 0
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        Counted.calls += 1
        return super().__torch_function__(function, types, args, kwargs or {})
model = nn.Linear(6, 1)
parameters = list(model.parameters())
def make_batch():
    x = torch.randn(8, 6).as_subclass(Counted)
    return x, x.sum(1, keepdim=True)
""", after='print("function calls", Counted.calls)'),
    _model("torch_dispatch_subclass", """
class Logged(torch.Tensor):
    names = []
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=False)
    def __init__(self, inner):
        self.inner = inner
    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        Logged.names.append(str(function))
        unwrap = lambda value: value.inner if isinstance(value, Logged) else value
        return function(*[unwrap(value) for value in args], **(kwargs or {}))
model = nn.Linear(6, 1)
parameters = list(model.parameters())
def loss_of(batch):
    x, y = batch
    return F.mse_loss(model(Logged(x) * 2), y)
""", after='print("dispatched", len(Logged.names), sorted(set(Logged.names)))'),
    _model("odd_tensors_beside", MLP + """
from torch._subclasses.fake_tensor import FakeTensorMode
beside = {
    "meta": torch.empty(10**9, 3, device="meta"),
    "sparse": torch.eye(4).to_sparse(),
    "complex": torch.randn(3, dtype=torch.complex64),
    "empty": torch.empty(0, 5),
    "number": torch.tensor(2.5),
    "fake": FakeTensorMode().from_tensor(torch.randn(3)),
    "bool": torch.tensor([True]),
    "expanded": torch.zeros(1).expand(10**9),
}
model.register_buffer("nothing", torch.empty(0))
"""),
    _model("complex_weights", """
class Rotating(nn.Module):
    def __init__(self):
        super().__init__()
        self.turn = nn.Parameter(torch.randn(6, 4, dtype=torch.complex64))
        self.scale = nn.Parameter(torch.tensor(1.0))
    def forward(self, x):
        return (x.to(torch.complex64) @ self.turn).abs().sum(1, keepdim=True) * self.scale
model = Rotating()
"""),
    _model("no_elements", """
class Partly(nn.Module):
    def __init__(self):
        super().__init__()
        self.none = nn.Parameter(torch.empty(0, 6))
        self.one = nn.Parameter(torch.tensor(0.5))
        self.linear = nn.Linear(6, 1)
    def forward(self, x):
        return self.linear(x) * self.one + F.linear(x, self.none).sum()
model = Partly()
"""),
    _model("getattr_tricks", """
class Tricky(nn.Module):
    asked = 0
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 1)
    def __getattr__(self, name):
        Tricky.asked += 1
        if name == "spare":
            return torch.randn(1)
        return super().__getattr__(name)
    @property
    def size(self):
        raise RuntimeError("not yet known")
    def __len__(self):
        raise TypeError("no length")
    def __bool__(self):
        print("asked whether true")
        return False
    def forward(self, x):
        return self.linear(x)
model = Tricky()
"""),
    _model("call_overridden", """
class Called(nn.Module):
    calls = 0
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 1)
    def __call__(self, x):
        Called.calls += 1
        return super().__call__(x) * 1.5
    def __setattr__(self, name, value):
        Called.calls += 100
        super().__setattr__(name, value)
    def __repr__(self):
        raise RuntimeError("unprintable")
    def forward(self, x):
        return self.linear(x)
model = Called()
""", after='print("called", Called.calls)'),
    _model("counting_traversals", """
class Counting(nn.Module):
    asked = {}
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 1)
    def forward(self, x):
        return self.linear(x)
    def extra_repr(self):
        return Counting.count("extra_repr") or ""
    @classmethod
    def count(cls, name):
        cls.asked[name] = cls.asked.get(name, 0) + 1
def counted(name, original):
    def method(self, *arguments, **keywords):
        Counting.count(name)
        return original(self, *arguments, **keywords)
    return method
for name in ("parameters", "named_parameters", "modules", "named_modules", "children", "named_children",
             "buffers", "named_buffers", "state_dict", "train", "zero_grad", "_get_name", "__repr__"):
    setattr(Counting, name, counted(name, getattr(nn.Module, name)))
model = Counting()
""", after="print(sorted(Counting.asked.items()))"),
    _model("odd_outputs", """
import collections
import dataclasses
Pair = collections.namedtuple("Pair", "mean spread")
@dataclasses.dataclass
class Output:
    value: object
    more: dict
class Rich(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 2)
    def forward(self, x):
        both = self.linear(x)
        return Output(Pair(both[:, :1], both[:, 1:]), {"steps": (part for part in both), "none": None})
model = Rich()
def loss_of(batch):
    output = model(batch[0])
    parts = [float(part[0]) for part in output.more["steps"]]
    assert len(parts) == 8
    return F.mse_loss(output.value.mean, batch[1]) + output.value.spread.pow(2).mean()
"""),
    _model("slots_and_generators", """
class Chunked(nn.Module):
    __slots__ = ("quick",)
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 1)
    def forward(self, x):
        for row in x:
            yield self.linear(row)
model = Chunked()
def loss_of(batch):
    return F.mse_loss(torch.stack(list(model(batch[0]))), batch[1])
"""),
    _model("hooks_that_count", MLP + """
hooked = {"forward": 0, "backward": 0, "gradient": 0, "step": 0}
def count(name):
    def hook(*arguments):
        hooked[name] += 1
    return hook
model[0].register_forward_hook(count("forward"))
model[2].register_full_backward_hook(count("backward"))
model[0].weight.register_hook(count("gradient"))
model[0].weight.register_post_accumulate_grad_hook(count("step"))
""", after="print(hooked)"),
    _model("quantized_beside", MLP + """
import warnings
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    codes = torch.quantize_per_tensor(torch.randn(4, 4), 0.1, 0, torch.qint8)
    nested = torch.nested.nested_tensor([torch.randn(2), torch.randn(3)])
"""),
]  # fmt: skip
