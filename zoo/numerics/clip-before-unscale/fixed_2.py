"""Learn to copy the last word of a sequence with a small network, with amp and bounded gradients."""
import torch
from torch import nn
from torch.nn.utils import clip_grad_value_


class Copier(nn.Module):
    def __init__(self, words=12, width=32):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.mix = nn.Linear(3 * width, width)
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        x = self.embed(tokens).flatten(1)
        return self.head(torch.relu(self.mix(x)))


class Trainer:
    def __init__(self, model, lr=0.1, clip=0.5):
        self.model, self.clip = model, clip
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=8192.0)

    def fit(self, steps=250):
        for step in range(1, steps + 1):
            tokens = torch.randint(0, 12, (64, 3))
            self.optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cpu", dtype=torch.float16):
                scores = self.model(tokens)
                loss = nn.functional.cross_entropy(scores, tokens[:, -1])
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
            clip_grad_value_(self.model.parameters(), self.clip)
            self.scaler.step(self.optimizer)
            self.scaler.update()
            if step % 25 == 0:
                print(f"{step}: loss {loss.item():.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    Trainer(Copier()).fit()
