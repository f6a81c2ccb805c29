"""Training of a small net under the profiler, table of the slowest operators at the end."""
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule

torch.set_num_threads(1)
torch.manual_seed(9)


class Mixer(nn.Module):
    def __init__(self, tokens=12, dim=16, classes=5):
        super().__init__()
        self.token = nn.Sequential(nn.Linear(tokens, 32), nn.GELU(), nn.Linear(32, tokens))
        self.channel = nn.Sequential(nn.Linear(dim, 48), nn.GELU(), nn.Linear(48, dim))
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = x + self.token(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        x = x + self.channel(self.norm2(x))
        return self.head(x.mean(1))


def batches(count, size=32):
    protos = torch.randn(5, 12, 16)
    for _ in range(count):
        y = torch.randint(0, 5, (size,))
        yield protos[y] + torch.randn(size, 12, 16), y


def train_profiled(model, opt, steps):
    losses = []
    plan = schedule(wait=2, warmup=2, active=4, repeat=1)
    with profile(activities=[ProfilerActivity.CPU], schedule=plan, record_shapes=True) as prof:
        for x, y in batches(steps):
            with record_function("train_step"):
                loss = nn.functional.cross_entropy(model(x), y)
                opt.zero_grad()
                loss.backward()
                opt.step()
            losses.append(loss.item())
    print(prof.key_averages().table(sort_by="cpu_time_total", row_limit=6))
    return losses


def main():
    model = Mixer()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    losses = train_profiled(model, opt, steps=200)
    print(f"first loss {losses[0]:.3f}  last loss {sum(losses[-10:]) / 10:.3f}")


if __name__ == "__main__":
    main()
