"""Images, attacks and proposals, as somebody types them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ckm.cli.app import app
from dp import BudgetLedger

# Few large batches: that is quick to account for.
IMAGES = """schema = 1
[data]
path = "train.npz"
test = "test.npz"
about = "made-up crosses and bars"
[plan]
noise_multiplier = 8.0
delta = 1e-4
dataset_size = 60
batch_size = 60
steps = 4
[network]
learning_rate = 1.0
[images]
classes = ["bar", "cross"]
height = 16
width = 16
"""
PEOPLE = """schema = 1
[data]
path = "people.csv"
[plan]
noise_multiplier = 8.0
delta = 1e-4
dataset_size = 60
batch_size = 60
steps = 4
[target]
name = "kind"
values = ["a", "b"]
[[column]]
name = "x"
low = 0
high = 1
cuts = []
"""


def run(*args):
    environment = {"CKM_LOG_FORMAT": "text", "NO_COLOR": "1", "COLUMNS": "200"}
    return CliRunner(env=environment).invoke(app, ["dpsgd", *(str(arg) for arg in args)])


def drawn(number, seed):
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 60, (number, 16, 16), dtype=np.uint8)
    labels = rng.integers(0, 2, number)
    images[:, 7:9] = 250
    images[labels == 1, :, 7:9] = 250
    return images, np.array(["bar", "cross"])[labels]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, seed in (("train", 1), ("test", 2)):
        images, labels = drawn(60, seed)
        np.savez(f"{name}.npz", x=images, y=labels)
    Path("images.toml").write_text(IMAGES)
    rng = np.random.default_rng(3)
    x = rng.random(60)
    pd.DataFrame({"x": x, "kind": np.where(x > 0.5, "a", "b")}).to_csv(
        "people.csv", index=False
    )
    Path("plan.toml").write_text(PEOPLE)
    return tmp_path


def test_a_model_of_images_is_trained_scored_once_and_used(folder):
    assert run("train", "images.toml", "-o", "m.safetensors", "--dry-run").exit_code == 0
    assert not Path("m.safetensors").exists()
    found = run("train", "images.toml", "-o", "m.safetensors", "--seed", 1)
    assert found.exit_code == 0, found.output
    assert "of the test records rightly: a statistic without noise" in found.output
    card = run("card", "m.safetensors").output
    assert "made-up crosses and bars" in card
    assert run("predict", "m.safetensors", "test.npz", "-o", "p.csv").exit_code == 0
    table = pd.read_csv("p.csv")
    assert table["image"].tolist() == [*range(60)]
    assert (table["prediction"] == drawn(60, 2)[1]).mean() > 0.9
    assert (
        run("predict", "m.safetensors", "test.npz", "--keep", "x", "-o", "q.csv").exit_code == 2
    )


def test_the_ledger_pays_for_images_as_for_a_table(folder):
    BudgetLedger.create(
        "budget.db", epsilon=9.0, delta=1e-3, adjacency="add-remove", unit="record"
    )
    paid = ("--ledger", "budget.db", "--who", "Ada")
    # What cannot be trained on is refused before anything is paid.
    before = BudgetLedger.open("budget.db").left
    np.savez("train.npz", x=drawn(60, 1)[0], y=["bar"] * 59 + ["circle"])
    found = run("train", "images.toml", "-o", "m.safetensors", *paid)
    assert found.exit_code == 3, found.output
    assert "circle" not in found.output
    assert BudgetLedger.open("budget.db").left == before
    images, labels = drawn(60, 1)
    np.savez("train.npz", x=images, y=labels)
    found = run("train", "images.toml", "-o", "m.safetensors", *paid)
    assert found.exit_code == 0, found.output
    assert BudgetLedger.open("budget.db").left != before


@pytest.mark.parametrize(
    ("old", "new", "exit_code", "words"),
    [
        ("height = 16", "height = 12", 3, "have shape (16, 16), not (12, 16)"),
        ('"bar", "cross"', '"bar"', 2, "two or more"),
        ('"bar", "cross"', '"bar", "star"', 3, "labels that the list of classes lacks"),
        ('path = "train.npz"', 'path = "absent.npz"', 3, "no file or folder"),
        ('test = "test.npz"', 'test = "train.npz"', 2, "other records"),
        ("width = 16", "width = 16\nfactor = 17", 2, "factor"),
        ("[images]", '[target]\nname = "x"\nlow = 0\nhigh = 1\n[images]', 2, "no target"),
        ("height = 16\nwidth = 16", 'height = 16\nwidth = 16\nnetwork = "vgg"', 2, "one of"),
    ],
)
def test_images_that_cannot_be_are_refused_before_anything_is_trained(
    folder, old, new, exit_code, words
):
    assert old in IMAGES
    Path("images.toml").write_text(IMAGES.replace(old, new, 1))
    found = run("train", "images.toml", "-o", "m.safetensors")
    assert found.exit_code == exit_code, found.output
    assert words in found.output
    assert not Path("m.safetensors").exists()


def test_a_file_without_columns_or_images_is_refused(folder):
    Path("plan.toml").write_text(PEOPLE.partition("[target]")[0])
    found = run("train", "plan.toml", "-o", "m.safetensors")
    assert found.exit_code == 2
    assert "target is missing" in found.output
    assert "images have [images]" in found.output


def test_a_sweep_over_images_draws_its_figures(folder):
    found = run(
        "sweep", "images.toml", "--one-at-a-time", "--image-factor", "1,2",
        "--learning-rate", "1,2", "--seed", 1, "-o", "runs.csv", "--page", "sweep.html",
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    assert set(pd.read_csv("runs.csv")["image_factor"]) == {1.0, 2.0}
    page = Path("sweep.html").read_text("utf-8")
    assert "Accuracy by learning rate" in page
    assert "Accuracy by image sides divided by" in page
    assert run("sweep", "images.toml", "-o", "runs.txt", "--epochs", 1).exit_code == 2


def test_the_rows_of_the_source_are_shown_and_can_be_trained(folder, monkeypatch):
    monkeypatch.setattr("ckm.cli.dpsgd.published._today", lambda _: 1.0)  # takes seconds
    found = run("published", "-o", "table.csv")
    assert found.exit_code == 0, found.output
    table = pd.read_csv("table.csv")
    assert len(table) == 13
    assert np.allclose(table["epsilon"], table["printed_epsilon"], atol=0.051)
    assert table["clipping_norm"].tolist()[:4] == [10, 10, 10, 12]
    rows = []

    def run_sweep(sweep, train, *, file, report_progress):
        rows.extend(sweep.combinations())
        Path(file).write_text("")
        return 0

    monkeypatch.setattr("dpsgd.sweeps.sweep.run_sweep", run_sweep)
    monkeypatch.setattr("dpsgd.sweeps.sweep.outcomes", lambda *_, **__: ())
    text = IMAGES.replace("[network]", "[network]\nhidden = [512]")
    Path("images.toml").write_text(text)
    assert run("sweep", "images.toml", "--published", "-o", "runs.csv").exit_code == 0
    assert len(rows) == 13
    assert rows[3] == {
        "batch_size": 64, "epochs": 120, "clipping_norm": 12, "learning_rate": 0.0007,
        "noise_multiplier": 1.1, "hidden_units": 512.0, "image_factor": 1.0,
    }  # fmt: skip
    both = ("--published", "--epochs", "1")
    assert run("sweep", "images.toml", *both, "-o", "runs.csv").exit_code == 2


def test_an_attack_shows_what_the_promise_allows_and_stays_inside(folder):
    found = run(
        "attack", "plan.toml", "--shadows", 2, "--seed", 1, "--with-plain",
        "-o", "a.json", "--page", "a.html",
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    for words in ("private", "plain", "lira-offline", "keep them inside"):
        assert words in found.output
    models = json.loads(Path("a.json").read_text())["models"]
    assert [one["name"] for one in models] == ["private", "plain"]
    assert "Attacks on private" in Path("a.html").read_text("utf-8")
    assert run("attack", "--shadows", 2).exit_code == 2


def test_settings_are_proposed_without_a_look_at_the_records(folder, monkeypatch):
    Path("people.csv").unlink()
    text = PEOPLE.replace("noise_multiplier = 8.0", "epsilon = 1.0")
    Path("plan.toml").write_text(text)
    found = run("advise", "plan.toml", "--epsilon", "1,8")
    assert found.exit_code == 0, found.output
    assert "[network]" in found.output
    assert "trials, free" in found.output
    lines = [
        line for line in found.output.splitlines() if line.strip().startswith(("1 ", "8 "))
    ]
    assert len(lines) == 2
    Path("images.toml").write_text(IMAGES + 'network = "convolutions"\n')
    assert run("advise", "images.toml").exit_code == 2
    assert run("advise").exit_code == 2


def test_a_dry_run_tells_of_a_learning_rate_that_is_far_off(folder):
    text = PEOPLE.replace("steps = 4", "steps = 30\n[network]\nlearning_rate = 64.0")
    text = text.replace("noise_multiplier = 8.0", "noise_multiplier = 20.0")
    text = text.replace("size = 60\nbatch_size = 60", "size = 400\nbatch_size = 100")
    text += "".join(
        f'[[column]]\nname = "x{n}"\nlow = 0\nhigh = 1\ncuts = []\n' for n in "abcd"
    )
    table = pd.read_csv("people.csv")
    table.assign(xa=0, xb=0, xc=0, xd=0).to_csv("people.csv", index=False)
    Path("plan.toml").write_text(text)
    found = run("train", "plan.toml", "-o", "m.safetensors", "--dry-run")
    assert found.exit_code == 0, found.output
    assert "ckm dpsgd advise" in found.output
    assert (
        "ckm dpsgd advise"
        not in run("train", "images.toml", "-o", "m.safetensors", "--dry-run").output
    )
