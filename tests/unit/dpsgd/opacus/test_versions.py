"""The door trains under the lowest and the newest version of Opacus that is admitted."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
SCRIPT = """
import warnings
warnings.simplefilter("ignore")
import opacus, torch
from torch.utils.data import DataLoader, TensorDataset
from opacus.utils.batch_memory_manager import BatchMemoryManager
from dpsgd import Plan, privatise
from dpsgd.opacus import PrivacyEngine, opacus_history

x, y = torch.randn(60, 3), torch.randint(0, 2, (60,))
found = []
for mode in ("hooks", "functorch", "ghost"):
    torch.manual_seed(1)
    net, criterion = torch.nn.Linear(3, 2), torch.nn.CrossEntropyLoss()
    engine = PrivacyEngine(delta=1e-3, epochs=1, seed=1)
    more = {"criterion": criterion} if mode == "ghost" else {}
    model, optimizer, *rest, loader = engine.make_private(
        module=net, optimizer=torch.optim.SGD(net.parameters(), lr=0.1),
        data_loader=DataLoader(TensorDataset(x, y), batch_size=10), noise_multiplier=1.0,
        max_grad_norm=1.0, grad_sample_mode=mode, **more,
    )
    criterion = rest[0] if rest else criterion
    with BatchMemoryManager(
        data_loader=loader, max_physical_batch_size=4, optimizer=optimizer
    ) as pieces:
        for a, b in pieces:
            optimizer.zero_grad()
            criterion(model(a), b).backward()
            optimizer.step()
    found.append(net.weight.detach().clone())
    assert engine.steps_taken == 6
assert all(torch.allclose(found[0], other, atol=1e-5) for other in found)
engine.save_checkpoint(path="run.pt", module=model, optimizer=optimizer)
engine.load_checkpoint(path="run.pt", module=model, optimizer=optimizer)
assert engine.steps_taken == 6
account = opacus.PrivacyEngine(accountant="rdp").accountant
account.history = opacus_history(engine.plan)["history"]
assert account.get_epsilon(1e-3) > 0
net = torch.nn.Linear(3, 2)
loader, criterion = privatise(
    Plan(dataset_size=60, sampling_rate=0.1, steps=5, noise_multiplier=1.0, delta=1e-3),
    model=net, optimizer=torch.optim.SGD(net.parameters(), lr=0.1),
    criterion=criterion.criterion.criterion, data=(x, y), engine="opacus",
)
for a, b in loader:
    criterion(net(a), b).backward()
    loader.training.optimizer.step()
print(opacus.__version__)
"""


def bounds():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (line,) = (d for d in extras["optional-dependencies"]["dpsgd"] if d.startswith("opacus"))
    return re.fullmatch(r"opacus>=([\d.]+),<([\d.]+)", line).groups()


def fetched(wanted, folder):
    uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-deps"]
    done = subprocess.run([*uv, "--target", folder, wanted], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("a version of Opacus cannot be fetched here")


@pytest.mark.slow
@pytest.mark.parametrize("end", ["lowest", "newest"])
def test_the_door_trains_under_the_lowest_and_the_newest_version(end, tmp_path):
    low, above = bounds()
    fetched(f"opacus=={low}" if end == "lowest" else f"opacus>={low},<{above}", tmp_path)
    paths = {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env={**os.environ, **paths}, capture_output=True,
        text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    version = done.stdout.strip()
    assert version == low if end == "lowest" else version >= low
