"""A classifier with an auxiliary head, trained with DistributedDataParallel."""
import tempfile

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, 32), nn.ReLU())
        self.head = nn.Linear(32, 3)
        self.aux_head = nn.Linear(32, 3)

    def forward(self, x, aux=False):
        h = self.body(x)
        if aux:
            return self.head(h), self.aux_head(h)
        return self.head(h)


store = tempfile.mkdtemp() + "/store"
dist.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
torch.manual_seed(0)
x = torch.randn(512, 16)
y = (x @ torch.randn(16, 3)).argmax(dim=1)

model = DDP(Classifier())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(60):
    index = torch.randint(0, 512, (64,))
    if step % 10 == 0:
        logits, aux_logits = model(x[index], aux=True)
        loss = F.cross_entropy(logits, y[index]) + 0.3 * F.cross_entropy(aux_logits, y[index])
    else:
        logits = model(x[index])
        loss = F.cross_entropy(logits, y[index])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.3f}")
dist.destroy_process_group()
