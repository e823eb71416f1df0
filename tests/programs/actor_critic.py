"""An actor and a critic learn to walk along a corridor to its end."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

LENGTH = 7


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.action, self.value = nn.Linear(LENGTH, 32), nn.Linear(32, 2), nn.Linear(32, 1)

    def forward(self, x):
        x = F.relu(self.hidden(x))
        return F.softmax(self.action(x), dim=-1), self.value(x)


def episode(policy):
    place, chosen, rewards = LENGTH // 2, [], []
    while 0 < place < LENGTH - 1 and len(rewards) < 30:
        probabilities, value = policy(F.one_hot(torch.tensor(place), LENGTH).float())
        distribution = Categorical(probabilities)
        action = distribution.sample()
        chosen.append((distribution.log_prob(action), value, distribution.entropy()))
        place += 1 if action.item() else -1
        rewards.append(1.0 if place == LENGTH - 1 else -0.05)
    return chosen, rewards


torch.manual_seed(543)
policy = Policy()
optimizer = torch.optim.RMSprop(policy.parameters(), lr=1e-2)
for number in range(15):
    chosen, rewards = episode(policy)
    returns, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + 0.95 * total
        returns.insert(0, total)
    loss = 0
    for (log_prob, value, entropy), reached in zip(chosen, torch.tensor(returns)):
        loss = loss - log_prob * (reached - value.item()) - 0.01 * entropy + F.smooth_l1_loss(value, reached.view(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"episode {number} length {len(rewards)} loss {loss.item():.5f}")
