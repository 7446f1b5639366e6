"""``ckm dpsgd report``: the page is chosen by what is given, and nothing else is read."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from ckm.cli import app
from dpsgd import DPClassifier, Plan
from dpsgd.card import PrivacyCard
from dpsgd.sweeps.sweep import Sweep, run_sweep
from tests.reports import facts as made

CARD = PrivacyCard(
    epsilon=1.0,
    delta=1e-6,
    unit="person",
    adjacency="add-remove",
    sampling="poisson",
    accounted_sampling="poisson",
    accountant="loss distribution",
    sampling_rate=0.01,
    noise_multiplier=1.1,
    clipping_norm=1.0,
    steps=1000,
    expected_batch=320,
)

PLAN_FILE = """
schema = 1
[plan]
noise_multiplier = 2.0
delta = 1e-3
dataset_size = 100
batch_size = 10
steps = 30
[target]
name = "employed"
values = ["no", "yes"]
[[column]]
name = "age"
low = 0
high = 100
"""


def run(*args):
    return CliRunner(env={"CKM_LOG_FORMAT": "text"}).invoke(app, ["dpsgd", *map(str, args)])


def page(tmp_path, *args):
    output = tmp_path / "page.html"
    result = run("report", *args, "-o", output, "--force")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"{output}\n"
    return output.read_text(encoding="utf-8")


@pytest.fixture
def quick_study(monkeypatch):
    asked = []

    def study(base, *, plan=None, **_about):
        asked.append((base, plan))
        return made.study()

    monkeypatch.setattr("dpsgd.pages.study_facts", study)
    return asked


def test_a_run_and_a_plan_give_a_study(tmp_path, quick_study):
    html = page(tmp_path, "-s", 60000, "-b", 64, "-n", 1, "-e", 15)
    assert "Privacy cost of the training" in html
    (base, plan), *_ = quick_study
    assert (base.dataset_size, base.batch_size, base.epochs, base.delta) == (
        60000,
        64,
        15,
        1e-5,
    )
    assert plan is None
    whole = Plan(
        dataset_size=100, sampling_rate=0.1, steps=30, noise_multiplier=2, delta=1e-3, seed=1
    )
    (tmp_path / "plan.json").write_text(whole.to_json())
    html = page(tmp_path, tmp_path / "plan.json", "--lang", "fr")
    assert "entraînement privé" in html
    assert quick_study[-1][1] == whole
    (tmp_path / "plan.toml").write_text(PLAN_FILE)
    page(tmp_path, tmp_path / "plan.toml", "--force")
    assert quick_study[-1][1].dataset_size == 100


def test_a_sweep_gives_accuracies_beside_what_choosing_costs(tmp_path):
    sweep = Sweep(
        values={"batch_size": [64], "noise_multiplier": [2.0, 4.0], "epochs": [2]},
        repetitions=2,
        with_plain=True,
    )

    def train(choices, is_private, seed):
        noise = choices.get("noise_multiplier", 0.0)
        yield 0.9 - 0.05 * noise * is_private - 0.001 * seed, 2 / noise if is_private else None

    run_sweep(sweep, train, file=tmp_path / "runs.csv")
    html = page(tmp_path, tmp_path / "runs.csv", "-s", 10_000, "-d", 1e-5, "--classes", 2)
    assert (
        "80.0\u00a0% at ε = 1.000, against 90.0\u00a0% without privacy; difference in" in html
    )
    assert "Poisson batches, one unit more or less" in html
    assert "logarithmic distribution" in html
    assert (tmp_path / "page.html").stat().st_mode & 0o077 == 0
    bare = page(tmp_path, tmp_path / "runs.csv")
    assert "The δ, the sampler and the neighbours are not on record." in bare


def test_audits_of_several_files_stand_side_by_side(tmp_path):
    scores = tmp_path / "scores.csv"
    lines = [f"{n % 7 + (n % 2)},{n % 2}" for n in range(200)]
    scores.write_text("\n".join(["score,is_member", *lines]))
    private, plain = tmp_path / "private.json", tmp_path / "plain.json"
    found = run("audit", scores, "--epsilon", 3, "--name", "logit", "--canaries", "-o", private)
    assert found.exit_code == 0, found.stderr
    assert "at most" in found.stdout
    found = run("audit", scores, "-o", plain)
    assert found.exit_code == 0, found.stderr
    assert "at most" not in found.stdout
    assert run("audit", scores, "-o", plain).exit_code == 2
    html = page(tmp_path, private, plain)
    assert "ε = 3.000, δ = 10⁻⁵" in html
    assert ">logit<" in html
    assert ">scores<" in html
    numbers = tmp_path / "audit.json"
    assert run("report", private, "-o", numbers).exit_code == 0
    assert json.loads(numbers.read_text())["models"][0]["epsilon"] == 3.0


def test_a_card_is_read_from_json_and_from_the_head_of_a_model(tmp_path):
    (tmp_path / "card.json").write_text(CARD.to_json())
    alone = page(tmp_path, tmp_path / "card.json")
    assert "ε = 1.000, δ = 10⁻⁶ per person (Poisson batches, one unit more or less)." in alone
    plan = Plan(dataset_size=9, sampling_rate=1.0, steps=1, noise_multiplier=8.0, delta=1e-3)
    model = DPClassifier(plan, classes=["no", "yes"]).fit(np.ones((9, 1)), ["no"] * 9)
    model.save(file := tmp_path / "model.safetensors")
    (tmp_path / "card.json").write_text(model.card().to_json())
    assert page(tmp_path, file) == page(tmp_path, tmp_path / "card.json")
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    assert run("report", file, "-o", tmp_path / "other.html").exit_code == 2


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", "[1]"),
        ("a.json", "{}"),
        ("a.json", '{"accountant": 1}'),
        ("a.json", '{"format": "ckm-dpsgd-audit", "version": 1}'),
        ("a.json", '{"steps": 1, "sampling_rate": "x", "format": 1}'),
        ("a.json", "[" * 100_000),
        ("a.csv", "x,y\n1,2\n"),
        ("a.safetensors", ""),
        ("a.safetensors", "\x02\0\0\0\0\0\0\0{}"),
        ("a.safetensors", '\x16\0\0\0\0\0\0\0{"__metadata__": {}   }'),
    ],
)
def test_any_other_file_is_refused_and_leaves_no_page(tmp_path, name, content):
    file, output = tmp_path / name, tmp_path / "page.html"
    file.write_text(content)
    result = run("report", file, "-o", output)
    assert result.exit_code == 2, result.stderr
    assert not output.exists()


def test_options_that_say_nothing_are_refused(tmp_path):
    (tmp_path / "card.json").write_text(CARD.to_json())
    output = tmp_path / "page.html"
    for args, words in (
        (("-s", 10), "--batch-size is missing"),
        ((tmp_path / "card.json", "-s", 10), "does not go with this file"),
        ((tmp_path / "card.json", tmp_path / "card.json"), "several files"),
        ((tmp_path / "none.json",), "cannot be read"),
        ((tmp_path / "none.csv",), "cannot be read"),
    ):
        result = run("report", *args, "-o", output)
        assert result.exit_code == 2, args
        assert words in result.stderr
    assert run("report", tmp_path / "card.json", "-o", tmp_path / "page.pdf").exit_code == 2
    assert not output.exists()
