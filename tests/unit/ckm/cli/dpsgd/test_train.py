"""The verbs of ckm dpsgd that train, predict and tell, as somebody types them."""

import json
import logging
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.csv
import pytest
import torch
from click.testing import CliRunner

import dpsgd
from ckm.cli.app import app
from ckm.release.files.output_folder import only_writer
from dp import BudgetLedger, Guarantee, LedgerFileError
from dpsgd.files.tensor_file import opened, sealed
from footing.files import write_whole

# Few large batches: that is quick to account for.
PLAN = """schema = 1
[data]
path = "people.csv"
about = "a made-up register"
[plan]
noise_multiplier = 8.0
delta = 1e-4
unit = "person"
dataset_size = 400
batch_size = 400
steps = 20
[network]
learning_rate = 0.5
average = 0.5
[target]
name = "retired"
values = ["no", "yes"]
[[column]]
name = "age"
low = 0
high = 100
cuts = []
[[column]]
name = "sex"
values = ["F", "M"]
may_be_missing = true
"""


def run(*args):
    environment = {"CKM_LOG_FORMAT": "text", "NO_COLOR": "1", "COLUMNS": "200"}
    return CliRunner(env=environment).invoke(app, ["dpsgd", *(str(arg) for arg in args)])


def people(number=400, seed=1):
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 90, number)
    sex = rng.choice(["F", "M", None], number)
    retired = np.where(age > 62, "yes", "no")
    return pd.DataFrame({"id": np.arange(number), "age": age, "sex": sex, "retired": retired})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    people(100, seed=2).to_parquet("others.parquet")
    Path("plan.toml").write_text(PLAN)
    return tmp_path


def train(*options):
    return run("train", "--plan", "plan.toml", "-o", "m.safetensors", *options)


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    people().to_csv(folder / "people.csv", index=False)
    (folder / "plan.toml").write_text(PLAN)
    found = run("train", "--plan", folder / "plan.toml", "-o", folder / "m.safetensors")
    assert found.exit_code == 0, found.output
    return folder / "m.safetensors"


def test_a_model_is_trained_shown_and_used(folder, model_file):
    found = run("predict", model_file, "others.parquet", "--keep", "id", "-o", "p.csv")
    assert found.exit_code == 0, found.output
    table = pyarrow.csv.read_csv("p.csv").to_pandas()
    assert table["id"].tolist() == list(range(100))
    assert np.allclose(table["probability_no"] + table["probability_yes"], 1, atol=1e-6)
    assert set(table["prediction"]) <= {"no", "yes"}
    again = dpsgd.read_model(model_file).predict(pd.read_parquet("others.parquet"))
    assert again.tolist() == table["prediction"].tolist()
    assert run("predict", model_file, "others.parquet", "-o", "p.csv").exit_code == 2
    to = ("-o", "p.parquet")
    assert run("predict", model_file, "others.parquet", *to, "--dry-run").exit_code == 0
    assert not Path("p.parquet").exists()
    assert run("predict", model_file, "others.parquet", *to).exit_code == 0
    parquet = pd.read_parquet("p.parquet")
    assert parquet["prediction"].tolist() == table["prediction"].tolist()
    assert run("predict", model_file, "others.parquet", "-o", "p.txt").exit_code == 2


@pytest.mark.slow
def test_a_card_is_printed_and_reckoned_again(folder, model_file):
    found = run("card", model_file)
    assert found.exit_code == 0, found.output
    for words in ("per            person", "add-remove", "a made-up register", "operating"):
        assert words in found.output
    card = dpsgd.PrivacyCard.from_json(run("card", model_file, "--format", "json").stdout)
    assert card.epsilon == dpsgd.read_facts(model_file).plan.cost().epsilon
    forged = _edited(
        model_file, card=json.dumps({**json.loads(card.to_json()), "epsilon": 0.1})
    )
    write_whole("forged.safetensors", forged)
    found = run("card", "forged.safetensors")
    assert found.exit_code == 1
    assert "does not bear out: epsilon" in found.output


def _edited(file, **changes):
    content, facts = opened(file, kind="model")
    return sealed(content, kind="model", facts={**facts, **changes})


def test_a_seed_makes_a_demonstration_that_can_be_repeated(folder):
    assert train("--seed", 3).exit_code == 0
    first = Path("m.safetensors").read_bytes()
    assert "demonstration" in run("card", "m.safetensors").output
    assert run("card", "m.safetensors", "--strict").exit_code == 1
    assert train("--seed", 3).exit_code == 2
    assert train("--seed", 3, "--force").exit_code == 0
    assert Path("m.safetensors").read_bytes() == first
    assert sorted(path.name for path in folder.iterdir()) == [
        "m.safetensors", "others.parquet", "people.csv", "plan.toml",
    ]  # fmt: skip


def test_options_say_what_a_file_says(folder):
    found = run(
        "train", "people.csv", "--noise-multiplier", 8, "--delta", "1e-4",
        "--dataset-size", 400, "--batch-size", 400, "--steps", 20, "--unit", "person",
        "--number", "age", 0, 100,
        "--codes", "sex", "F,M", "--target-codes", "retired", "no,yes", "--hidden-units", 4,
        "-o", "m.safetensors",
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    facts = dpsgd.read_facts("m.safetensors")
    assert facts.settings["hidden"] == [4]
    assert [column.name for column in facts.plan.schema.columns] == ["age", "sex"]
    assert run("train", "people.csv", "-o", "n.safetensors").exit_code == 2
    found = train("--force", "--dry-run", "--target-number", "age", 0, 100)
    assert found.exit_code == 2
    assert "named once" in found.output


def test_a_number_is_predicted_within_its_bounds(folder):
    text = PLAN.replace(
        'name = "retired"\nvalues = ["no", "yes"]', 'name = "id"\nlow=0\nhigh=9'
    )
    Path("plan.toml").write_text(text)
    assert train().exit_code == 0
    assert run("predict", "m.safetensors", "people.csv", "-o", "p.csv").exit_code == 0
    assert pd.read_csv("p.csv")["prediction"].between(0, 9).all()


@pytest.mark.parametrize(
    ("old", "new", "exit_code", "words"),
    [
        ("batch_size = 400", "batch_size = 401", 2, "401 exceeds 400"),
        ("delta = 1e-4", "delta = 0.0025", 2, "below 1 / 400"),
        ("steps = 20", "steps = 20\nepochs = 2", 2, "steps or epochs"),
        ("unit =", "unti =", 2, "did you mean 'unit'"),
        ("noise_multiplier = 8.0", "noise_multiplier = 8.0\nepsilon = 0.1", 2, "but costs"),
        ('name = "age"\nlow = 0', 'name = "age"\nlow = "0"', 2, "low must be a number"),
        ('name = "age"\nlow = 0', 'name = "age"', 2, "needs low and high"),
        ('name = "age"', 'name = "height"', 3, "lacks 'height'"),
        ('values = ["no", "yes"]', 'values = ["no", "maybe"]', 3, "does not list"),
        ("low = 0\nhigh = 100", 'values = ["F"]', 2, "two or more"),
        ("learning_rate = 0.5", "learning_rate = inf", 2, "finite"),
        ("schema = 1", "schema = 2", 2, "schema must be 1"),
        ('unit = "person"', 'unit = "per\\nson"', 2, "unit of a card"),
        ('about = "a made-up register"', 'about = "a\\u001bb"', 2, "data of a card"),
        ("schema = 1", 'schema = 1\nkind = "batch-norm"', 2, "unknown"),
        ('unit = "person"', 'adjacency = "zero-out"\ndataset_size = 400', 2, "not valid TOML"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_before_anything_is_paid(folder, old, new, exit_code, words):
    assert old in PLAN
    Path("plan.toml").write_text(PLAN.replace(old, new, 1))
    found = train()
    assert found.exit_code == exit_code, found.output
    assert words in found.output
    assert not Path("m.safetensors").exists()
    assert not [path.name for path in folder.iterdir() if "safetensors" in path.name]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--target-codes", "retired", "no,perhaps"), "does not list"),
        (("--target-number", "retired", 0, 1), "something else"),
    ],
)
def test_a_dry_run_refuses_what_does_not_fit_the_records(folder, options, words):
    found = train("--dry-run", *options)
    assert found.exit_code == 3, found.output
    assert words in found.output
    assert train("--dry-run").exit_code == 0


def test_data_of_another_size_are_refused_where_the_size_is_public(folder):
    Path("plan.toml").write_text(PLAN.replace('unit = "person"', 'adjacency = "zero-out"'))
    people(399).to_csv("people.csv", index=False)
    found = train()
    assert found.exit_code == 3, found.output
    assert "399" not in found.output


def test_a_record_that_is_out_of_range_is_not_shown(folder):
    text = Path("people.csv").read_text().replace("F,yes", "F,secretvalue", 1)
    Path("people.csv").write_text(text)
    found = train()
    assert found.exit_code == 3
    assert "secretvalue" not in found.output
    Path("people.csv").write_text('id,age,sex,retired\n1,secretvalue,"F')
    found = train()
    assert found.exit_code == 3
    assert "secretvalue" not in found.output


def test_one_record_does_not_change_how_the_others_are_read(folder):
    from ckm.cli.dpsgd.records import read_columns

    Path("a.csv").write_text("x\n1.50\n2.50\n")
    Path("b.csv").write_text("x\n1.50\n2.50\n3.505\n")
    first, second = (
        read_columns(Path(n), names=["x"])["x"].to_pylist() for n in ("a.csv", "b.csv")
    )
    assert first == second[:2]


def test_a_missing_package_is_named_with_what_to_install(folder, monkeypatch):
    for name, module in [*sys.modules.items()]:
        is_ours = name.startswith("dpsgd.") and name != "dpsgd.errors"
        if is_ours and not hasattr(module, "__path__"):
            package, _, leaf = name.rpartition(".")
            monkeypatch.setattr(sys.modules[package], leaf, module)  # there again afterwards
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    found = train()
    assert found.exit_code == 2, found.output
    assert "pip install '.[dpsgd]'" in found.output


def test_a_table_without_records_gives_a_model_of_noise_alone(folder):
    Path("people.csv").write_text("id,age,sex,retired\n")
    assert train().exit_code == 0
    found = run("predict", "m.safetensors", "people.csv", "-o", "p.csv")
    assert found.exit_code == 0, found.output
    assert len(pd.read_csv("p.csv")) == 0


def test_altered_copies_are_refused_before_they_are_paid(ledger):
    plan = dpsgd.Plan.from_json(_PLAN_WITH_COPIES)
    model = dpsgd.DPClassifier(plan, classes=[0, 1])
    with pytest.raises(dpsgd.PlanError, match="copies"):
        model.fit(np.ones((9, 2)), [0, 1, 1] * 3, ledger=ledger, who="Ada")
    assert not ledger.entries()


_PLAN_WITH_COPIES = dpsgd.Plan(
    dataset_size=400, sampling_rate=1, steps=2, noise_multiplier=8, delta=1e-4, unit="person",
    augmentations=4,
).to_json()  # fmt: skip


# ---------------------------------------------------------------- paying, going on


def stop_after(monkeypatch, steps):
    """Save after each step, and stop after some as a signal would."""
    from dpsgd.training.training import PrivateTraining

    monkeypatch.setattr("dpsgd.training.callbacks._PAUSE_S", 0.0)
    plain = PrivateTraining.step

    def step_on(self):
        if self.steps_taken >= steps:
            raise KeyboardInterrupt
        plain(self)

    monkeypatch.setattr(PrivateTraining, "step", step_on)


@pytest.fixture
def ledger(folder):
    return BudgetLedger.create(
        "budget.db", epsilon=4.0, delta=1e-3, adjacency="add-remove", unit="person"
    )


PAID = ("--ledger", "budget.db", "--who", "Ada")


def paid(ledger):
    """Give what was charged; a run that goes on or ends has an entry that costs nothing."""
    return [float(entry.epsilon) for entry in ledger.entries() if float(entry.epsilon)]


@pytest.mark.slow
def test_a_run_is_paid_once_however_often_it_is_interrupted(folder, ledger, monkeypatch):
    cost = dpsgd.Plan.for_noise(
        8.0, delta=1e-4, dataset_size=400, batch_size=400, steps=20
    ).cost().epsilon  # fmt: skip
    for steps, options in ((0, ()), (7, ("--resume",)), (13, ("--resume",))):
        with monkeypatch.context() as patch:
            stop_after(patch, steps)
            assert train(*PAID, *options).exit_code == 130
        assert len(paid(ledger)) == 1
        assert not Path("m.safetensors").exists()
    refused = train(*PAID)
    assert refused.exit_code == 2
    assert "--resume goes on" in refused.output
    assert train(*PAID, "--resume", "--batch-size", 200).exit_code == 2
    assert train("--resume").exit_code == 2
    assert train(*PAID, "--resume", "--learning-rate", 0.1).exit_code == 2
    assert train(*PAID, "--resume").exit_code == 0
    assert paid(ledger) == [cost]
    assert not Path("m.safetensors.run").exists()
    assert train("--resume", "--force").exit_code == 2


def test_a_run_that_was_stopped_before_it_was_paid_is_paid_when_it_goes_on(
    folder, ledger, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr(BudgetLedger, "spend", lambda *_, **__: (_ for _ in ()).throw(SystemExit))
        train(*PAID)
    assert Path("m.safetensors.run").exists()
    assert "a ledger pays" in train("--resume").output
    assert train(*PAID, "--resume").exit_code == 0
    assert len(paid(ledger)) == 1


def test_a_run_begun_anew_is_paid_anew(folder, ledger, monkeypatch):
    with monkeypatch.context() as patch:
        stop_after(patch, 5)
        train(*PAID)
    assert train(*PAID, "--force").exit_code == 0
    assert len(paid(ledger)) == 2


def test_what_the_budget_does_not_hold_is_not_trained(folder, monkeypatch):
    BudgetLedger.create(
        "budget.db", epsilon=0.5, delta=1e-3, adjacency="add-remove", unit="person"
    )
    stop_after(monkeypatch, -1)
    found = train(*PAID)
    assert found.exit_code == 1, found.output
    assert "is left" in found.output
    assert not Path("m.safetensors.run").exists()
    assert train("--ledger", "budget.db").exit_code == 2
    assert train(*PAID, "--unit", "household").exit_code == 2
    demonstration = train(*PAID, "--seed", 1)
    assert demonstration.exit_code == 2
    assert "no release" in demonstration.output
    assert not BudgetLedger.open("budget.db").entries()


def test_an_epsilon_of_nothing_still_costs_its_delta():
    plan = dpsgd.Plan.for_noise(1e5, delta=1e-4, dataset_size=400, batch_size=400, steps=2)
    assert plan.cost().epsilon == 0
    assert plan.cost().guarantee.delta == 1e-4
    assert plan.cost(0).guarantee.delta == 0


@pytest.mark.slow
def test_an_interrupted_demonstration_ends_as_if_it_had_not_been(folder, monkeypatch):
    train("--seed", 3)
    whole = Path("m.safetensors").read_bytes()
    with monkeypatch.context() as patch:
        stop_after(patch, 11)
        train("--seed", 3, "--force")
    assert Path("m.safetensors").read_bytes() == whole  # the older one is still there
    assert train("--seed", 3, "--force", "--resume").exit_code == 0
    assert Path("m.safetensors").read_bytes() == whole


# Training that its ninth step ends as a lack of memory would: nothing is tidied up.
KILLED = """
import os, signal, sys
import dpsgd.training.callbacks
from ckm.cli.app import app
from dpsgd.training.training import PrivateTraining

def killed(self):
    if self.steps_taken == 9:
        os.kill(os.getpid(), signal.SIGKILL)

dpsgd.training.callbacks._PAUSE_S = 0.0
PrivateTraining._keep_average = killed
app(["dpsgd", "train", "--plan", "plan.toml", "-o", "m.safetensors", *sys.argv[1:]])
"""


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on(folder, ledger):
    command = [sys.executable, "-c", KILLED, *(str(option) for option in PAID)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert opened("m.safetensors.run", kind="run")[1]["steps_taken"] == 8
    assert train(*PAID, "--resume").exit_code == 0
    assert len(paid(ledger)) == 1


def had(ledger):
    """Give what the ledger says of runs, without their names."""
    return [entry.what.rpartition("(run ")[2].split()[1] for entry in ledger.entries()]


@pytest.fixture
def copied(folder, ledger, monkeypatch):
    """Interrupt a paid run, and copy its file."""
    with monkeypatch.context() as patch:
        stop_after(patch, 7)
        assert train(*PAID).exit_code == 130
    shutil.copy("m.safetensors.run", "copy.safetensors.run")
    return ledger


def go_on(name, *options):
    return run(
        "train", "--plan", "plan.toml", "-o", f"{name}.safetensors", "--resume", *options
    )


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), [("m", "copy"), ("copy", "m")])
def test_of_two_copies_of_a_paid_run_one_ends_and_the_other_is_refused(copied, first, second):
    assert go_on(first, *PAID).exit_code == 0
    refused = go_on(second, *PAID)
    assert refused.exit_code == 1, refused.output
    assert "Another copy of this run went on" in refused.output
    assert not Path(f"{second}.safetensors").exists()
    assert had(copied) == ["begun", "resumed", "finished"]
    assert len(paid(copied)) == 1


@pytest.mark.slow
def test_a_copy_of_a_run_pays_for_itself_where_it_is_paid_for_from_another_budget(copied):
    other = BudgetLedger.create(
        "other.db", epsilon=4.0, delta=1e-3, adjacency="add-remove", unit="person"
    )
    assert go_on("m", *PAID).exit_code == 0
    assert go_on("copy", "--ledger", "other.db", "--who", "Bob").exit_code == 0
    assert paid(other) == paid(copied)


@pytest.mark.slow
def test_a_run_that_a_copy_has_overtaken_gives_no_model(folder, ledger, monkeypatch):
    """The copy is taken from a run that is under way, and ends before it does."""
    from dpsgd.training.training import PrivateTraining

    plain, is_first = PrivateTraining.step, [True]

    def step_on(self):
        if self.steps_taken == 8 and is_first.pop(0):
            shutil.copy("m.safetensors.run", "copy.safetensors.run")
            is_first.append(False)
            assert go_on("copy", *PAID).exit_code == 0
        plain(self)

    monkeypatch.setattr("dpsgd.training.callbacks._PAUSE_S", 0.0)
    monkeypatch.setattr(PrivateTraining, "step", step_on)
    refused = train(*PAID)
    assert refused.exit_code == 1, refused.output
    assert "Another copy" in refused.output
    assert not Path("m.safetensors").exists()
    assert not Path("m.safetensors.run").exists()
    assert had(ledger) == ["begun", "resumed", "finished"]


@pytest.mark.slow
@pytest.mark.parametrize("is_charged", [False, True])
@pytest.mark.parametrize("does", ["resumed", "finished"])
def test_a_crash_beside_an_entry_loses_no_run(copied, monkeypatch, does, is_charged):
    """Before the entry or after it, the file holds a state that the ledger takes; twice."""
    plain = BudgetLedger.spend

    def spend(self, *args, run, **more):
        if run.does == does and not is_charged:
            raise SystemExit
        plain(self, *args, run=run, **more)
        if run.does == does:
            raise SystemExit

    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(BudgetLedger, "spend", spend)
            go_on("m", *PAID)
        assert not Path("m.safetensors").exists()
    assert go_on("m", *PAID).exit_code == 0
    assert go_on("copy", *PAID).exit_code == 1
    assert len(paid(copied)) == 1


@pytest.mark.slow
def test_a_ledger_that_fails_at_the_end_leaves_the_run(copied, monkeypatch):
    plain = BudgetLedger.spend

    def spend(self, *args, run, **more):
        if run.does == "finished":
            msg = "locked"
            raise LedgerFileError(msg)
        plain(self, *args, run=run, **more)

    with monkeypatch.context() as patch:
        patch.setattr(BudgetLedger, "spend", spend)
        assert go_on("m", *PAID).exit_code == 2
    assert go_on("m", *PAID).exit_code == 0


@pytest.mark.slow
def test_a_run_of_an_older_version_goes_on_once(copied):
    """Its entry and its file know of no states."""
    content, facts = opened("m.safetensors.run", kind="run")
    run_ = facts["about"]["run"]
    for name in ("state", "held"):
        del facts["about"][name]
    for name in ("m", "copy"):
        Path(f"{name}.safetensors.run").write_bytes(sealed(content, kind="run", facts=facts))
    entry = copied.entries()[0]
    Path("budget.db").unlink()
    ledger = BudgetLedger.create(
        "budget.db", epsilon=4.0, delta=1e-3, adjacency="add-remove", unit="person"
    )
    charge = Guarantee(
        epsilon=float(entry.epsilon), delta=float(entry.delta), adjacency="add-remove",
        unit="person",
    )  # fmt: skip
    ledger.spend(charge, who="Ada", what=f"model m.safetensors (run {run_})")
    assert go_on("m", *PAID).exit_code == 0
    assert go_on("copy", *PAID).exit_code == 1
    assert len(paid(ledger)) == 1


def test_two_processes_do_not_train_to_one_file(folder, ledger):
    with only_writer(folder / "m.safetensors"):
        found = train(*PAID)
    assert found.exit_code == 2, found.output
    assert "Another process" in found.output
    assert not ledger.entries()


# ---------------------------------------------------------------- files


def test_every_cut_and_every_flipped_byte_is_noticed(folder, model_file):
    whole = model_file.read_bytes()
    file = folder / "bad.safetensors"
    for place in [*range(0, len(whole), 97), len(whole) - 1]:
        file.write_bytes(whole[:place])
        with pytest.raises(dpsgd.CheckpointError):
            dpsgd.read_facts(file)
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(dpsgd.CheckpointError):
            dpsgd.read_facts(file)


def test_foreign_and_hostile_files_are_refused(folder, model_file):
    file = folder / "bad.safetensors"
    facts = opened(model_file, kind="model")[1]
    plan = json.loads(facts["plan"])
    hostile = [
        b"", b"x" * 7, b"\xff" * 64, (2**62).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"{}", (40_000).to_bytes(8, "little") + b"[" * 40_000,
        _edited(model_file, settings={**facts["settings"], "hidden": [10**6] * 3}),
        _edited(model_file, settings={**facts["settings"], "hidden": [1] * 10**5}),
        _edited(model_file, settings={**facts["settings"], "hidden": "xx"}),
        _edited(model_file, settings={**facts["settings"], "device": "cuda"}),
        _edited(model_file, settings=[1]), _edited(model_file, estimator="os.system"),
        _edited(model_file, inputs=10**9), _edited(model_file, inputs=-1),
        _edited(model_file, steps_taken=0), _edited(model_file, card=None),
        _edited(model_file, card="{}"), _edited(model_file, plan="[]"),
        _edited(model_file, encoding=2),
        _edited(model_file, plan=json.dumps({**plan, "schema": None, "steps": -1})),
    ]  # fmt: skip
    torch.save({"weights": torch.ones(3)}, folder / "other.pt")
    hostile.append((folder / "other.pt").read_bytes())
    for number, content in enumerate(hostile):
        file.write_bytes(content)
        with pytest.raises(dpsgd.DPSGDError):
            dpsgd.read_model(file)
        assert run("predict", file, "people.csv", "-o", "p.csv").exit_code == 2, number
    for name in ("absent.safetensors", "."):
        with pytest.raises(dpsgd.CheckpointError):
            dpsgd.read_model(name)


def test_a_file_of_a_newer_version_is_named_as_such(folder, model_file, monkeypatch):
    content, facts = opened(model_file, kind="model")
    monkeypatch.setattr("dpsgd.files.tensor_file._VERSION", 2)
    newer = sealed(content, kind="model", facts=facts)
    monkeypatch.undo()
    write_whole(folder / "new.safetensors", newer)
    with pytest.raises(dpsgd.CheckpointError, match="newer version"):
        dpsgd.read_facts(folder / "new.safetensors")


def test_a_run_is_no_model(folder, monkeypatch):
    stop_after(monkeypatch, 3)
    train()
    found = run("card", "m.safetensors.run")
    assert found.exit_code == 2
    assert "is no model" in found.output


def test_a_file_that_cannot_be_written_leaves_the_older_one(folder, model_file, monkeypatch):
    model = dpsgd.read_model(model_file)
    file = folder / "m.safetensors"
    model.save(file)
    before = file.read_bytes()

    def full(_stream):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("footing.files.os.fsync", full)
    with pytest.raises(OSError, match="space"):
        model.save(file)
    assert file.read_bytes() == before
    assert not [path for path in folder.iterdir() if path.name.endswith(".tmp")]


# ---------------------------------------------------------------- nothing without noise leaves


def test_no_figure_without_noise_is_in_words_logs_files_or_cards(folder, ledger, caplog):
    """Losses, norms, batch sizes, scores and counts change with the data: nothing else may."""
    told = []
    for size, seed in ((400, 1), (391, 5)):
        people(size, seed=seed).to_csv("people.csv", index=False)
        caplog.clear()
        with caplog.at_level(logging.DEBUG):
            found = train(*PAID, "--force", "-v", "--log-format", "json")
        assert found.exit_code == 0, found.output
        facts = opened("m.safetensors", kind="model")[1]
        lines = [re.sub(r'"time": "[^"]*"', "", found.output)]
        lines += [record.getMessage() for record in caplog.records]
        left = re.compile(r"""(left: |"left": \{"text": ")epsilon = [\d.]+, delta = [\d.e-]+""")
        told.append(
            ([left.sub("", line) for line in lines], facts, run("card", "m.safetensors").output)
        )
    assert told[0] == told[1]
    assert "391" not in str(told)


# ---------------------------------------------------------------- sweeps, memory


SWEEP = ("sweep", "--plan", "plan.toml", "--test", "others.parquet", "-o", "runs.csv")


def test_a_sweep_tells_means_and_what_keeping_the_best_costs(folder):
    choices = ("--noise-multiplier", "8,16", "--epochs", 2, "--repetitions", 2)
    found = run(*SWEEP, *choices, "--with-plain", "--seed", 1)
    assert found.exit_code == 0, found.output
    lines = pd.read_csv("runs.csv")
    assert len(lines) == 2 * 2 * 2 + 2 * 2
    assert lines["epsilon"].isna().sum() == 4
    assert "chance" in found.output
    assert "all 4 private runs counted" in found.output
    before = Path("runs.csv").read_bytes()
    again = run(*SWEEP, *choices, "--with-plain", "--seed", 1)
    assert again.exit_code == 0
    assert Path("runs.csv").read_bytes() == before
    assert set(lines["learning_rate"]) == {0.5}
    Path("plan.toml").write_text(PLAN.replace("learning_rate = 0.5", "learning_rate = 0.7"))
    assert run(*SWEEP, "--noise-multiplier", "8", "--epochs", 1).exit_code == 0
    assert set(pd.read_csv("runs.csv")["learning_rate"]) == {0.5, 0.7}


@pytest.mark.parametrize(
    "wrong",
    [("--batch-size", "a,b"), ("--image-factor", "2"), (), ("--batch-size", "401"),
     ("--epochs", "0"), ("--epochs", "1", "-o", "runs.txt"),
     ("--epochs", "1", "--test", "people.csv"),
     ("--epochs", "1", "-o", "others.parquet")],
)  # fmt: skip
def test_a_sweep_over_what_cannot_be_is_refused(folder, wrong):
    found = run(*SWEEP, *wrong)
    assert found.exit_code == 2, found.output
    assert not Path("runs.csv").exists()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("--batch", "--batch-size"),
        ("--units", "--hidden-units"),
        ("--hidden", "--hidden-units"),
        ("--factor", "--image-factor"),
    ],
)
def test_options_of_memory_are_called_as_those_of_a_sweep_and_old_names_say_so(old, new):
    found = run("memory", "--formulas", old, 2)
    assert found.exit_code == 2
    assert new in found.output
    assert new in run("sweep", "--help").output


def test_memory_is_shown_by_formula_and_measured_in_a_process_each(folder, monkeypatch):
    formulas = ("memory", "--formulas", "--hidden-units", 26)
    found = run(*formulas, "--batch-size", "64,128", "--image-factor", 2)
    assert found.exit_code == 0, found.output
    assert "63.4" in found.output
    assert "128" in found.output
    assert run(*formulas, "--batch-size", "1.5").exit_code == 2
    assert run("memory", "--formulas").exit_code == 2
    measured = []

    def measure(stages, configurations):
        from dpsgd.training.memory import Footprint

        measured.extend(configurations)
        for one in configurations:
            assert [*stages(one)] == ["model", "batch", "backward", "step"]
        held = dict.fromkeys(("start", "model", "batch", "backward", "step", "peak"), 10**9)
        return [Footprint(configuration=one, device="cpu", **held) for one in configurations]

    monkeypatch.setattr("dpsgd.training.memory.measure", measure)
    found = run(
        "memory", "--plan", "plan.toml", "--batch-size", 64, "--limit", 500, "-o", "m.csv"
    )
    assert found.exit_code == 0, found.output
    assert [one["is_private"] for one in measured] == [False, True]
    assert measured[0]["inputs"] == 5
    assert "parts of 63" in found.output or "parts of 31" in found.output
    assert pd.read_csv("m.csv")["peak"].tolist() == [10**9] * 2


def test_every_verb_has_an_example_and_completion(folder):
    for name in ("train", "predict", "card", "charge", "sweep", "memory"):
        shown = run(name, "--help")
        assert shown.exit_code == 0
        assert "Examples:" in shown.output


@pytest.mark.slow
def test_the_commands_of_the_page_run(tmp_path, monkeypatch):
    page = (
        Path(__file__).resolve().parents[5] / "docs" / "reference" / "privacy" / "dpsgd.md"
    ).read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    Path("plan.toml").write_text(re.findall(r"```toml\n(.*?)```", page, re.DOTALL)[0])
    for name in ("people.csv", "new.csv", "others.csv"):
        table = people(50).rename(columns={"id": "person_id", "retired": "employed"})
        table.to_csv(name, index=False)
    # To find the noise and to measure take seconds, and have tests of their own.
    monkeypatch.setattr("dpsgd.plan.noise_for", lambda *_, **__: 32.0)
    monkeypatch.setattr("ckm.cli.dpsgd.memory._measured", lambda *_: ckm_memory())
    lines = [
        line.partition("  #")[0].split()
        for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
        for line in block.splitlines()
    ]
    assert len(lines) == 8
    for program, *words in lines:
        assert program == "ckm"
        found = CliRunner(env={"CKM_LOG_FORMAT": "text"}).invoke(app, words)
        assert found.exit_code == 0, found.output
    assert {"model.safetensors", "predicted.csv", "runs.csv"} <= {*map(str, Path().iterdir())}


def ckm_memory():
    held = dict.fromkeys(("start", "model", "batch", "backward", "step", "peak"), 1)
    return [{"batch_size": 1, "kind": "plain", **held}]
