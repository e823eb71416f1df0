"""Stable-Baselines3: PPO, A2C and DQN on CartPole, SAC and TD3 on Pendulum, saving and loading."""

# /// script
# dependencies = ["stable_baselines3==2.9.2"]
# ///

import os
import tempfile
import warnings

import numpy as np
import torch
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3
from stable_baselines3.common.evaluation import evaluate_policy

warnings.filterwarnings("ignore")
torch.set_num_threads(1)


def checksum(model):
    return round(sum(p.double().abs().sum().item() for p in model.policy.parameters()), 5)


ppo = PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=32, n_epochs=2, seed=0, device="cpu").learn(128)
print("ppo", checksum(ppo))
a2c = A2C("MlpPolicy", "CartPole-v1", seed=0, device="cpu").learn(60)
print("a2c", checksum(a2c))
dqn = DQN(
    "MlpPolicy", "CartPole-v1", learning_starts=50, buffer_size=500, seed=0, device="cpu", target_update_interval=50
).learn(150)
print("dqn", checksum(dqn))
sac = SAC("MlpPolicy", "Pendulum-v1", learning_starts=20, buffer_size=200, batch_size=16, seed=0, device="cpu").learn(
    40
)
print("sac", checksum(sac))
td3 = TD3("MlpPolicy", "Pendulum-v1", learning_starts=20, buffer_size=200, batch_size=16, seed=0, device="cpu").learn(
    40
)
print("td3", checksum(td3))
reward, spread = evaluate_policy(ppo, ppo.get_env(), n_eval_episodes=2)
print("reward", reward, spread)
with tempfile.TemporaryDirectory() as folder:
    ppo.save(os.path.join(folder, "ppo"))
    loaded = PPO.load(os.path.join(folder, "ppo"), device="cpu")
    observation = np.array([0.01, 0.02, 0.03, 0.04], dtype=np.float32)
    print("action", int(loaded.predict(observation, deterministic=True)[0]), checksum(loaded))
