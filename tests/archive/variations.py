"""One small training script, and what was changed in it: pairs of runs whose difference is known."""

from __future__ import annotations

BASE = """
import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(16, 32)
        self.norm = nn.LayerNorm(32)
        self.fc2 = nn.Linear(32, 32)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        x = torch.relu(self.norm(self.fc1(x)))
        x = self.drop(torch.relu(self.fc2(x)))
        return self.head(x)


draws = torch.Generator().manual_seed(1)
X = torch.randn(256, 16, generator=draws) * 3 + 1
Y = (X[:, :4] + 0.1 * torch.randn(256, 4, generator=draws)).argmax(1)
X = (X - X.mean(0)) / X.std(0)
data = torch.utils.data.TensorDataset(X, Y)
order = torch.Generator().manual_seed(5)
loader = torch.utils.data.DataLoader(data, batch_size=64, shuffle=True, generator=order)
net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.01)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 40)
criterion = nn.CrossEntropyLoss()
step = 0
for epoch in range(3):
    for x, y in loader:
        step += 1
        opt.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        opt.step()
        sched.step()
"""

# What is replaced by what; a name with several replacements makes them all.
CHANGES: dict[str, list[tuple[str, str]]] = {
    "again": [],
    "seed": [("torch.manual_seed(0)", "torch.manual_seed(1)")],
    "seed 2": [("torch.manual_seed(0)", "torch.manual_seed(2)")],
    "lr with seed": [("lr=3e-3", "lr=1e-3"), ("torch.manual_seed(0)", "torch.manual_seed(1)")],
    "lr with seed 2": [("lr=3e-3", "lr=1e-3"), ("torch.manual_seed(0)", "torch.manual_seed(2)")],
    "init": [("net = Net()", "net = Net()\nnn.init.normal_(net.fc2.weight, std=0.5)")],
    "lr": [("lr=3e-3", "lr=1e-3")],
    "weight decay": [("weight_decay=0.01", "weight_decay=0.0")],
    "dropout": [("nn.Dropout(0.1)", "nn.Dropout(0.3)")],
    "no normalisation": [("X = (X - X.mean(0)) / X.std(0)\n", "")],
    "late normalisation": [
        ("X = (X - X.mean(0)) / X.std(0)\n", "M, S = X.mean(0), X.std(0)\n"),
        ("net(x)", "net((x - M) / S)"),
    ],
    "prepared": [("net(x)", "net(x * 1.1)")],
    "order": [("order = torch.Generator().manual_seed(5)", "order = torch.Generator().manual_seed(6)")],
    "batch size": [("batch_size=64", "batch_size=32")],
    "gelu": [("torch.relu(self.fc2(x))", "nn.functional.gelu(self.fc2(x))")],
    "a draw more": [("step = 0", "torch.rand(1)\nstep = 0")],
    "eps": [("nn.LayerNorm(32)", "nn.LayerNorm(32, eps=1e-3)")],
    "reduction": [("nn.CrossEntropyLoss()", "nn.CrossEntropyLoss(reduction='sum')")],
    "smoothing": [("nn.CrossEntropyLoss()", "nn.CrossEntropyLoss(label_smoothing=0.1)")],
    "schedule": [("CosineAnnealingLR(opt, 40)", "CosineAnnealingLR(opt, 80)")],
    "adam": [("AdamW(net.parameters(), lr=3e-3, weight_decay=0.01)", "Adam(net.parameters(), lr=3e-3)")],
    "names": [
        ("self.fc1", "self.first"),
        ("self.norm", "self.layer_norm"),
        ("self.head", "self.classifier"),
        ("net", "model"),
    ],
    "port": [
        ("net = Net()", "net = nn.Sequential(*[m for m in Net().children()])"),
        ("net(x)", "net(x)"),
    ],
    "float64": [
        ("net = Net()", "net = Net().double()"),
        ("X = (X - X.mean(0)) / X.std(0)", "X = ((X - X.mean(0)) / X.std(0)).double()"),
    ],
    "another order of sums": [
        (
            "self.fc2(x)",
            "(x[:, 16:] @ self.fc2.weight[:, 16:].T + x[:, :16] @ self.fc2.weight[:, :16].T + self.fc2.bias)",
        ),
    ],
    "rounding": [("torch.relu(self.norm(self.fc1(x)))", "torch.relu(self.norm(self.fc1(x) * 3.0 / 3.0))")],
    "detached": [("self.drop(torch.relu(self.fc2(x)))", "self.drop(torch.relu(self.fc2(x)).detach())")],
    "hook": [("        return self.head(x)", "        x.register_hook(lambda g: 2 * g)\n        return self.head(x)")],
    "clipping": [("        opt.step()", "        nn.utils.clip_grad_norm_(net.parameters(), 0.1)\n        opt.step()")],
    "accumulated": [("        opt.zero_grad()", "        if step % 2: opt.zero_grad()")],
    "eval mode": [("net = Net()", "net = Net().eval()")],
    "frozen": [("net = Net()", "net = Net()\nnet.fc1.weight.requires_grad_(False)")],
    "one bad step": [
        (
            "        loss.backward()",
            "        loss = loss * (2.0 if step == 11 else 1.0)\n        loss.backward()",
        )
    ],
    "weights touched": [
        ("        sched.step()", "        sched.step()\n        if step == 9: net.head.weight.data.mul_(1.5)")
    ],
    "longer": [("range(3)", "range(4)")],
}


def script(change: str) -> str:
    text = BASE
    for before, after in CHANGES[change]:
        assert before in text, f"the base has no {before!r}"
        text = text.replace(before, after)
    return text
