"""Sweeps: resumable, failing alone, the same whatever runs beside them."""

import json
import os

import numpy as np
import pandas as pd
import pytest

from reports import make_report
from synth.evaluation import EvaluationError, EvaluationPlan, grid, sweep
from synth.evaluation.conclusions import facts_of, sweep_facts
from synth.evaluation.journal import Journal
from synth.evaluation.result import Evaluation, Figure
from synth.evaluation.sweep import Run, Sweep, folds_of

PLAN = EvaluationPlan(groups=("tables",))


def frame(n=60):
    rng = np.random.default_rng(1)
    return pd.DataFrame({"a": rng.integers(5, size=n), "b": rng.integers(3, size=n)})


def copied(train, seed):
    del seed
    return train


def shuffled(train, *, seed, share):
    rng = np.random.default_rng(seed)
    made = train.copy()
    rows = rng.random(len(made)) < share
    made.loc[rows, "a"] = rng.permutation(made.loc[rows, "a"].to_numpy().copy())
    return made


def test_folds_share_all_rows_once():
    parts = folds_of(103, folds=5, seed=2)
    assert sorted(np.concatenate(parts).tolist()) == list(range(103))
    with pytest.raises(EvaluationError, match="from 2 to 4"):
        folds_of(4, folds=5, seed=1)


def test_a_table_has_a_line_per_figure_and_a_column_per_fold_with_times():
    found = sweep(frame(), grid(shuffled, share=[0.0, 1.0]), plan=PLAN, seed=3)
    table = found.table("share=0.0")
    assert list(table.columns) == [0, 1, 2, 3, 4]
    assert {"tvd1", "tvd2", "k_marginal", "fit_seconds", "fit_cpu_seconds"} <= set(table.index)
    assert (table.loc["tvd2"] == 0).all()
    means = found.aggregate("tvd2")
    assert means.loc["share=1.0", "mean"] == pytest.approx(
        found.table("share=1.0").loc["tvd2"].mean()
    )
    assert means.loc["share=1.0", "mean"] > 0.05
    assert means["folds"].tolist() == [5, 5]


def test_a_sweep_goes_on_where_it_stopped(tmp_path):
    path, calls = tmp_path / "sweep.jsonl", []

    def counted(train, seed):
        calls.append(seed)
        return train

    first = sweep(frame(), {"a": counted}, plan=PLAN, path=path, folds=3)
    again = sweep(frame(), {"a": counted, "b": counted}, plan=PLAN, path=path, folds=3)
    assert len(calls) == 6
    assert again.runs[:3] == first.runs
    assert len(path.read_text().splitlines()) == 1 + 6
    assert path.stat().st_mode & 0o077 == 0


def test_a_line_that_was_being_written_is_dropped_and_its_run_repeated(tmp_path):
    path = tmp_path / "sweep.jsonl"
    whole = sweep(frame(), {"a": copied}, plan=PLAN, path=path, folds=3)
    text = path.read_bytes()
    path.write_bytes(text[:-20])
    again = sweep(frame(), {"a": copied}, plan=PLAN, path=path, folds=3)
    assert [run.figures["tvd2"] for run in again.runs] == [
        run.figures["tvd2"] for run in whole.runs
    ]
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_the_file_of_another_sweep_or_no_sweep_is_refused(tmp_path):
    path = tmp_path / "sweep.jsonl"
    sweep(frame(), {"a": copied}, plan=PLAN, path=path, folds=3)
    with pytest.raises(EvaluationError, match="other records or settings"):
        sweep(frame(), {"a": copied}, plan=PLAN, path=path, folds=4)
    path.write_text("hello\n")
    with pytest.raises(EvaluationError, match="no record of a sweep"):
        sweep(frame(), {"a": copied}, plan=PLAN, path=path, folds=3)


def test_a_run_that_fails_costs_no_other_run_and_quotes_no_record(tmp_path):
    path = tmp_path / "sweep.jsonl"

    def broken(train, seed):
        raise ValueError(f"cannot use {train['a'].iloc[0]} MARKER")

    ways = {"broken": broken, "good": copied}
    found = sweep(frame(), ways, plan=PLAN, path=path, folds=3)
    assert [run.error for run in found.runs] == ["ValueError"] * 3 + [""] * 3
    assert "MARKER" not in path.read_text()
    mended = sweep(frame(), {**ways, "broken": ways["good"]}, plan=PLAN, path=path, folds=3)
    assert not any(run.error for run in mended.runs)


def test_a_run_has_the_same_seed_whatever_runs_beside_it():
    alone = sweep(frame(), grid(shuffled, share=[0.5]), plan=PLAN, folds=2)
    beside = sweep(frame(), grid(shuffled, share=[0.1, 0.5]), plan=PLAN, folds=2)
    for run, other in zip(alone.runs, beside.runs[2:], strict=True):
        assert run.figures["tvd2"] == other.figures["tvd2"]


def test_progress_names_every_run():
    told = []
    sweep(
        frame(), {"a": copied}, plan=PLAN, folds=2,
        progress=lambda done, of, name: told.append((done, of, name)),
    )  # fmt: skip
    assert told == [(0, 2, "a, fold 1"), (1, 2, "a, fold 2"), (2, 2, "")]


def test_a_full_disk_leaves_no_torn_line_in_the_file_of_runs(tmp_path, monkeypatch):
    path = tmp_path / "runs.jsonl"
    journal = Journal(path, settings={"seed": 1})
    write = os.write
    monkeypatch.setattr(
        "synth.evaluation.journal.os.write", lambda file, line: write(file, line[:9])
    )
    run = {"name": "a", "fold": 0, "figures": {"x": 1.0}, "error": None}
    with pytest.raises(OSError, match="No space"):
        journal.add(run)
    monkeypatch.undo()
    journal.add(run)
    assert Journal(path, settings={"seed": 1}).find("a", 0) == {"x": 1.0}


def facts_of_sweep(values, **controls):
    """Give the facts of runs of "x" at each epsilon, with values over the folds."""
    named = {f"x, epsilon={e}, depth=2": v for e, v in values.items()} | controls
    runs = [
        Run(name=way, fold=k, figures={"tvd2": v, "fit_seconds": 1.0})
        for way, several in named.items()
        for k, v in enumerate(several)
    ]
    return sweep_facts(
        Sweep(runs=tuple(runs)),
        controls=tuple(controls),
        rows=10,
        learner="histogram",
        title="",
        version="1",
    )


def test_a_page_of_a_sweep_has_mean_and_ends_over_the_folds_that_have_the_figure():
    facts = facts_of_sweep({0.5: [0.1, 0.4, None], 8: [None]}, train=[0.05, 0.07, None])
    (measure,) = facts.measures  # seconds are no figure of the records
    (spread,) = measure.spreads
    assert (spread.line, spread.epsilon) == ("x, depth=2", 0.5)
    assert (spread.low, spread.mean, spread.high) == (0.1, 0.25, 0.4)
    assert spread.values == (0.1, 0.4)
    assert measure.controls == {"train": pytest.approx(0.06)}
    assert (facts.folds, facts.train, facts.holdout) == (3, 7, 3)


def test_a_page_names_what_was_trained_only_where_something_was():
    def named(figure, value):
        found = Figure(name=figure, value=value)
        settings = {"learner": "histogram", "train": 10}
        facts = facts_of(
            {"": Evaluation(figures=(found,), settings=settings)}, title="", version="1"
        )
        assert ("What was trained" in make_report(facts, language="en").html) == bool(
            facts.learner
        )
        return facts.learner

    assert named("detection_auc", 0.7) == named("class_auc", 0.7) != ""
    assert named("tvd2", 0.1) == named("detection_auc", None) == ""
    assert facts_of_sweep({0.5: [0.1, 0.4]}).learner == ""


@pytest.mark.parametrize(
    ("means", "name", "epsilon", "share"),
    [
        ((0.2, 0.09, 0.11, 0.08, 0.04), "kept", 2.0, 0.75),  # 0.11 is worse than independent
        ((0.09, 0.08, 0.07, 0.06, 0.02), "kept", 0.1, 1.0),
        ((0.01, 0.01, 0.01, 0.01, 0.1), "lost", 0.0, 0.0),
    ],
)
def test_a_sweep_says_from_which_epsilon_on_more_than_the_margins_is_kept(
    means, name, epsilon, share
):
    values = dict(zip((0.1, 0.5, 1, 2, 8), ([mean] for mean in means), strict=True))
    facts = facts_of_sweep(values, independent=[0.1], bootstrap=[0.02])
    said, judged = facts.findings[""]
    assert (said.name, said.values["epsilon"]) == (name, epsilon)
    assert said.values["share"] == pytest.approx(share)
    assert judged.values == {"figure": "tvd2"}
    alone = facts_of_sweep(values).findings[""][0]
    assert (alone.name, alone.values["value"]) == ("best", means[-1])


def test_each_stretch_of_epsilons_has_its_best_way_and_attacks_have_none():
    ways = {
        "a": (0.1, 0.2, 0.3),
        "b": (0.2, 0.1, 0.2),
        "c (NOT DP as claimed)": (0.0, 0.0, 9.0),
    }
    runs = [
        Run(
            name=f"{way}, epsilon={e}",
            fold=0,
            figures=dict.fromkeys(("tvd1", "k_marginal", "domias"), value),
        )
        for way, several in ways.items()
        for e, value in zip((1, 2, 8), several, strict=True)
    ]
    found = sweep_facts(
        Sweep(runs=tuple(runs)), rows=10, learner="histogram", title="", version="1"
    )
    leads = {one.name: one.leads for one in found.measures}
    assert leads == {
        "tvd1": (("a", 1.0, 1.0), ("b", 2.0, 8.0)),
        "k_marginal": (("b", 1.0, 1.0), ("a", 2.0, 8.0)),
        "domias": (),
    }


def test_ways_that_differ_in_one_factor_alone_have_one_mean():
    names = ["a, epsilon=1, ratio=2", "a, epsilon=8, ratio=2", "a, epsilon=1, ratio=3", "train"]
    runs = [
        Run(name=name, fold=fold, figures={"tvd2": float(place)})
        for place, name in enumerate(names)
        for fold in range(2)
    ]
    means = Sweep(runs=tuple(runs)).aggregate("tvd2", over="epsilon")
    assert means["mean"].to_dict() == {"a, ratio=2": 0.5, "a, ratio=3": 2.0, "train": 3.0}
    assert means["folds"].tolist() == [4, 2, 2]
    with pytest.raises(EvaluationError, match="No way has a factor 'eps'"):
        Sweep(runs=tuple(runs)).aggregate("tvd2", over="eps")
