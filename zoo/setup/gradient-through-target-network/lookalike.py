"""Two encoders of one class, one for queries and one for documents, that are trained together."""
import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(6)
query_encoder = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 16))
document_encoder = copy.deepcopy(query_encoder)
optimizer = torch.optim.Adam([*query_encoder.parameters(), *document_encoder.parameters()], lr=2e-3)
mixing = torch.randn(20, 20) / 4
for step in range(150):
    query = torch.randn(48, 20)
    document = query @ mixing + 0.1 * torch.randn(48, 20)
    scores = F.normalize(query_encoder(query), dim=1) @ F.normalize(document_encoder(document), dim=1).T
    loss = F.cross_entropy(scores / 0.1, torch.arange(48))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(step, round(loss.item(), 4))
