import torch
import torch.nn.functional as F

torch.manual_seed(6)
K, D = 6, 36


def init_params(sizes):
    params = []
    for fan_in, fan_out in zip(sizes[:-1], sizes[1:]):
        w = torch.randn(fan_in, fan_out) * (2.0 / fan_in) ** 0.5
        params += [w.requires_grad_(), torch.zeros(fan_out, requires_grad=True)]
    return params


def forward(params, x):
    n = len(params) // 2
    for i in range(n):
        x = x @ params[2 * i] + params[2 * i + 1]
        if i < n - 1:
            x = F.relu(x)
    return x


proto = (torch.rand(K, D) > 0.5).float()


def sample(n):
    y = torch.randint(0, K, (n,))
    flip = (torch.rand(n, D) < 0.22).float()
    x = (proto[y] - flip).abs()
    return (x - 0.5) / 0.5, y


x_train, y_train = sample(2000)
x_val, y_val = sample(500)
params = init_params([D, 64, 64, K])
opt = torch.optim.Adam(params, lr=1e-3)
batch = 50

for epoch in range(6):
    order = torch.randperm(len(x_train))
    total = 0.0
    for start in range(0, len(order), batch):
        idx = order[start:start + batch]
        loss = F.nll_loss(forward(params, x_train[idx]), y_train[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    with torch.no_grad():
        logits = forward(params, x_val)
        val_loss = F.cross_entropy(logits, y_val)
        acc = (logits.argmax(1) == y_val).float().mean()
    print(f"epoch {epoch}: train {total * batch / len(order):.4f} val ce {val_loss:.4f} acc {acc:.3f}")
