"""Full-batch training: every update is an epoch, so the decay is stepped after each of them."""
import torch

torch.manual_seed(5)
x = torch.linspace(-2, 2, 200).unsqueeze(1)
y = torch.sin(3 * x) + 0.05 * torch.randn_like(x)
net = torch.nn.Sequential(torch.nn.Linear(1, 50), torch.nn.Tanh(), torch.nn.Linear(50, 1))
opt = torch.optim.Adam(net.parameters(), lr=2e-2)
decay = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.99)

for epoch in range(400):
    opt.zero_grad()
    loss = torch.nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()
    decay.step()
    if epoch % 100 == 0:
        print(epoch, loss.item(), decay.get_last_lr()[0])
