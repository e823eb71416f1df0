"""torchdiffeq: solvers, the adjoint method and events."""

# /// script
# dependencies = ["torchdiffeq==0.2.5"]
# ///

import torch
from torchdiffeq import odeint, odeint_adjoint, odeint_event

torch.manual_seed(0)
matrix = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
times = torch.linspace(0.0, 2.0, 5)
start = torch.tensor([2.0, 0.0])
for method in (
    "dopri5",
    "dopri8",
    "bosh3",
    "fehlberg2",
    "adaptive_heun",
    "euler",
    "midpoint",
    "heun3",
    "rk4",
    "explicit_adams",
    "implicit_adams",
    "scipy_solver",
):
    options = (
        {"solver": "RK45"}
        if method == "scipy_solver"
        else {"step_size": 0.1}
        if method in ("euler", "midpoint", "rk4")
        else None
    )
    solved = odeint(lambda t, y: y**3 @ matrix, start, times, method=method, options=options)
    print(method, [round(v, 5) for v in solved[-1].tolist()])


class Dynamics(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))

    def forward(self, t, y):
        return self.net(y)


dynamics = Dynamics()
for solve in (odeint, odeint_adjoint):
    dynamics.zero_grad()
    solve(dynamics, start, times, rtol=1e-6, atol=1e-6)[-1].pow(2).sum().backward()
    print(solve.__name__, round(sum(p.grad.abs().sum().item() for p in dynamics.parameters()), 5))
optimizer = torch.optim.Adam(dynamics.parameters(), lr=0.02)
truth = odeint(lambda t, y: y @ matrix, start, times)
for _ in range(10):
    optimizer.zero_grad()
    loss = (odeint_adjoint(dynamics, start, times) - truth).abs().mean()
    loss.backward()
    optimizer.step()
print("fit", round(loss.item(), 4))
height = (torch.tensor([10.0]), torch.tensor([0.0]))
when, state = odeint_event(
    lambda t, s: (s[1], torch.full_like(s[1], -9.8)),
    height,
    torch.tensor(0.0),
    event_fn=lambda t, s: s[0][0],
    atol=1e-8,
    rtol=1e-8,
)
print("event", round(when.item(), 5), round(state[1][-1].item(), 5))
