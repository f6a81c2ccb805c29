"""Predicts the next word of sentences that follow a rule."""
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda")
words, width = 50257, 1024


class Speaker(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.mix = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU())
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        return self.head(x + self.mix(x))


model = Speaker().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
for step in range(1, 61):
    tokens = torch.randint(0, 2000, (8192,), device=device)
    following = (tokens * 7 + 3) % 2000
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(model(tokens), following)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
