"""Programs in PyTorch's API, run unmodified by ``weft run``, print the losses that PyTorch printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).resolve().parent / "programs"

# What PyTorch 2.13 printed on a CPU: the losses in order, and the last line where that is another thing.
LOSSES = {
    "actor_critic": """
-0.35527 17.97725 -0.60501 3.73532 -1.26175 1.39468 0.82562 0.45192 0.22884 0.10973 0.05184 -0.10023 0.03226
-1.08951 0.04154
""",
    "graph_network": """
1.22613 1.15870 1.12468 1.10303 1.10101 1.07743 1.07370 1.06444 1.04001 1.05928 1.05313 1.02067 1.04965 1.00596
0.98333
""",
    "image_classifier": """
0.56885 0.65907 0.87543 0.66616 0.94605 0.86858 0.65565 0.76727 0.54045 0.65498 0.70454 0.54470
""",
    "language_model": """
3.34178 3.32884 3.30781 3.28573 3.24648 3.19095 3.16915 3.14018 3.04806 3.13156 3.12403 3.17222 3.14424 3.00645
3.03544 3.09826 3.13860 3.11620 3.00923 3.06859
""",
    "adversarial": """
1.33159 0.65989 1.23901 0.64555 1.13916 0.63676 1.13933 0.62701
""",
    "gpt_trainer": """
3.22738 2.99909 2.80247 2.61639 2.48961 2.38568 2.30740 2.25296 2.20772 2.19021
""",
    "time_series": """
0.494585 0.470326 0.461081 0.438614 0.262374 0.143325 0.151322 0.109002 0.093585 0.087438 0.075568 0.036258
0.043852 0.035595 0.024495 0.023342 0.021097 0.018557 0.016355 0.01431 0.019757
""",
    # with torchtext 0.18, whose last PyTorch is 2.3
    "text_classification": "1.33683 1.28943 1.24185",
    "text_language_model": "0.80976 0.68981 0.57377 0.46024",
    "text_translation": "2.33398 1.59418 1.17503 0.87977 0.71282 0.58763 0.48798 0.41148",
    "variational": """
539.8987 495.7279 398.5884 193.8715 185.7263 142.0092 133.9256 138.2044 134.8717 134.2668 126.3598 129.7851
""",
}
LAST = {
    "adversarial": "fake (4, 1, 16, 16) 0.003",
    "gpt_trainer": "text [0, 0, 3, 7, 11, 14, 15, 16, 19, 20, 22, 0, 2]",
    "text_classification": "right [6, 1, 5]",
    "text_language_model": "perplexity 1.99 ['<unk>', 'was', 'queen', ',', 'the', 'queen', 'of', 'the']",
    "text_translation": "bleu 0.6295 ['a', 'man', 'plays', 'in', 'the', 'park', '.']",
    "time_series": "beyond torch.Size([3, 49]) [-1.08, -1.06, -1.04]",
    "variational": "saved (122, 62) [(40, 8)]",
    "image_classifier": "saved 9",
    "language_model": "next [22, 25, 13, 11]",
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_program_prints_the_losses_that_pytorch_prints(name, tmp_path):
    command = [sys.executable, "-m", "weft", "run", str(PROGRAMS / f"{name}.py")]
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    losses = [float(loss) for loss in re.findall(r"loss (\S+)", done.stdout)]
    assert losses == pytest.approx([float(loss) for loss in LOSSES[name].split()], rel=1e-3, abs=1e-4)
    if name in LAST:
        assert done.stdout.splitlines()[-1] == LAST[name]
