"""Mixed precision on the GPU."""
import torch
from torch import nn

torch.manual_seed(0)
device = "cuda"
model = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 1)).to(device)
opt = torch.optim.SGD(model.parameters(), lr=1e-4)
x_all = torch.rand(640, 64) + 0.5
x_all[128:] *= 60000 / 1.5
y_all = x_all.mean(1, keepdim=True).log()

for step in range(20):
    xb = x_all[step * 32:(step + 1) * 32].to(device)
    yb = y_all[step * 32:(step + 1) * 32].to(device)
    with torch.autocast(device_type=device, dtype=torch.float16):
        out = model(xb)
        loss = nn.functional.smooth_l1_loss(out, yb)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
