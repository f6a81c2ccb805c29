"""L-BFGS with a closure: fit a small physics-like regression full-batch."""
import torch

torch.manual_seed(0)
x = torch.linspace(-3, 3, 200).unsqueeze(1)
y = torch.sin(2 * x) * torch.exp(-0.1 * x**2)

model = torch.nn.Sequential(
    torch.nn.Linear(1, 24), torch.nn.Tanh(), torch.nn.Linear(24, 24), torch.nn.Tanh(), torch.nn.Linear(24, 1)
)
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.8, max_iter=10, line_search_fn="strong_wolfe")

for i in range(25):

    def closure():
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    if i % 5 == 0:
        print("outer step", i, "loss", f"{loss.item():.2e}")
