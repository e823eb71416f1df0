"""Programs of PyTorch's tutorials for DistributedDataParallel run unmodified, with the losses that PyTorch printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ranks import free_port

PROGRAMS = Path(__file__).parent / "programs"
LAUNCH = ["launch", "--standalone", "--nproc-per-node", "2"]

# What PyTorch 2.13 printed with gloo in two processes, the lines sorted.
PRINTED = {
    "ddp_spawned": """
basic 1.25435 1.23751 1.04335 1.13158 1.16496
checkpoint 3.26522 3.26522 ['module.net1.weight', 'module.net1.bias', 'module.net2.weight', 'module.net2.bias']
""",
    "ddp_elastic": """
[RANK 0] Epoch 0 | Batchsize: 16 | Steps: 4 | 0.27914 0.16288 0.18274 0.08804
[RANK 0] Epoch 1 | Batchsize: 16 | Steps: 4 | 0.22285 0.13043 0.17426 0.08965
[RANK 1] Epoch 0 | Batchsize: 16 | Steps: 4 | 0.14653 0.19895 0.15282 0.06428
[RANK 1] Epoch 1 | Batchsize: 16 | Steps: 4 | 0.15416 0.11820 0.12199 0.12071
""",
    "ddp_images": """
epoch 0 1.2678 44.7917 1.1658 43.7500
epoch 1 0.9108 62.5000 1.2438 43.7500
epoch 2 0.8067 63.5417 0.8232 43.7500
""",
}
COMMANDS = {
    "ddp_spawned": ["run", PROGRAMS / "ddp_spawned.py", "2"],
    "ddp_elastic": [*LAUNCH, PROGRAMS / "ddp_elastic.py", "2", "1"],
    "ddp_images": [*LAUNCH, PROGRAMS / "ddp_images.py"],
}


def numbers(text):
    return [float(number) for number in re.findall(r"\d+\.\d+", text)]


@pytest.mark.parametrize("program", PRINTED)
def test_a_program_prints_pytorchs_losses(program, tmp_path):
    environment = {**os.environ, "MASTER_PORT": str(free_port()), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "weft", *map(str, COMMANDS[program])]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=100
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines, expected = sorted(done.stdout.strip().splitlines()), PRINTED[program].strip().splitlines()
    assert [re.sub(r"\d+\.\d+", "#", line) for line in lines] == [re.sub(r"\d+\.\d+", "#", line) for line in expected]
    assert numbers("\n".join(lines)) == pytest.approx(numbers(PRINTED[program]), abs=2e-4)
