import torch
import torch.nn as nn
import torch.nn.functional as F


def batch(n, length=10, vocab=12):
    """label: does the first 'A' come before the first 'B'?"""
    x = torch.randint(2, vocab, (n, length))
    rows = torch.arange(n)
    pa = torch.randint(0, length, (n,))
    pb = (pa + torch.randint(1, length, (n,))) % length
    x[rows, pa] = 0
    x[rows, pb] = 1
    return x, (pa < pb).long()


class OrderNet(nn.Module):
    def __init__(self, vocab=12, length=10, d=32, heads=4, layers=2):
        super().__init__()
        self.tok = nn.Embedding(vocab, d)
        self.pos = nn.Embedding(length, d)
        self.norm_in = nn.LayerNorm(d)
        block = nn.TransformerEncoderLayer(d, heads, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
        self.cls = nn.Linear(d, 2)
        self.register_buffer("ids", torch.arange(length))

    def forward(self, x):
        h = self.tok(x)
        h = self.norm_in(h)
        h = self.enc(h)
        return self.cls(h.mean(dim=1))


def train(steps=160, bs=48, lr=2e-3, seed=5):
    torch.manual_seed(seed)
    net = OrderNet()
    opt = torch.optim.AdamW(net.parameters(), lr=lr, weight_decay=0.01)
    running = []
    for it in range(1, steps + 1):
        x, y = batch(bs)
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        running.append(loss.item())
        if it % 50 == 0:
            print(f"iter {it} loss {sum(running[-50:]) / 50:.4f}")
    net.eval()
    with torch.no_grad():
        x, y = batch(1000)
        print("held-out accuracy", (net(x).argmax(1) == y).float().mean().item())


if __name__ == "__main__":
    train()
