"""One recipe for several models: embeddings stay fixed where a model has some, and this one has none."""
import torch
from torch import nn


def prepare(model, frozen):
    for name, parameter in model.named_parameters():
        if any(word in name for word in frozen):
            parameter.requires_grad = False
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


torch.manual_seed(9)
model = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 3))
recipes = {"text": ("embedding",), "table": ()}
rule = torch.randn(10, 3)
optimizer = torch.optim.Adam(prepare(model, recipes["table"]), lr=5e-3)
for step in range(150):
    x = torch.randn(64, 10)
    loss = nn.functional.cross_entropy(model(x), (x @ rule).argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(step, round(loss.item(), 4))
