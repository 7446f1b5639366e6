"""The words of a job about the noise of sums: every setting, and what is wrong with some."""

from __future__ import annotations

import pytest

from ckm.config import read_job
from ckm.config.problems import JobError
from ckm.engine.magnitudes import (
    Dominance,
    FewContributors,
    Flex,
    MagnitudeNoise,
    PPercent,
    PriorPosterior,
    Proportional,
)
from ckm.release.job_inputs import load_noises
from ptable import InfeasibleError

JOB = """
schema = 1
title = "People (made up)"
[data]
path = "people.parquet"
id = "person_id"
weight = "w"
[keys]
secret = "secret.key"
[ptable]
max_noise = 2
variance = 1.0
[output]
unit = "persons"
[[magnitude]]
name = "income"
unit = { en = "euros", fr = "euros (€)" }
[[variable]]
name = "income"
labels = { en = "Income", fr = "Revenu" }
[[table]]
name = "places"
dimensions = ["region", "sex"]
measures = ["count", "weighted", "sum:income", "mean:income"]
[[table]]
name = "hours"
dimensions = ["sex"]
measures = ["sum:hours"]
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.parquet").touch()
    (tmp_path / "secret.key").write_text("a secret of sixteen bytes or more")
    return tmp_path


def read(folder, text):
    (folder / "job.toml").write_text(text)
    return read_job(folder / "job.toml")


def noises(folder, section):
    return load_noises(
        read(folder, JOB.replace('name = "income"\nunit', f"{section}\nunit", 1))
    )


def test_every_setting_of_a_magnitude_reaches_the_noise(folder):
    made = noises(
        folder,
        """
        name = "income"
        flex = { point = 1000.0, small = 0.3, large = 0.03, power = 2 }
        factors = [1.0, 0.5, 0.2]
        ptable = { max_noise = 4, variance = 1.5, step = 4 }
        small_cells = { max_noise = 3, variance = 1.0, step = 5 }
        sensitive = { few = 4, dominance = { n = 3, percent = 80.0 }, p_percent = 15.0, \
prior_posterior = { posterior = 10.0, prior = 50.0 }, weighted = true }
        named_cells = [{ region = "North", branch = "steel" }, { region = "West" }]
        least_noise = 1.5
        jitter = false
        decimals = 2
        period = "2027"
        """,
    )
    income, hours = made["income"], made["hours"]
    assert income.scale == Flex(point=1000.0, small=0.3, large=0.03, power=2)
    assert income.factors == (1.0, 0.5, 0.2)
    assert (income.ptable.step, income.ptable.counts.tolist()) == (4, [0, 1, 2, 3, 4])
    assert income.small_cells.step == 5
    assert income.sensitive == (
        FewContributors(least=4),
        Dominance(n=3, percent=80.0, weighted=True),
        PPercent(percent=15.0, weighted=True),
        PriorPosterior(posterior=10.0, prior=50.0, weighted=True),
    )
    assert income.named_cells == (
        (("branch", "steel"), ("region", "North")),
        (("region", "West"),),
    )
    assert (income.least_noise, income.jitter, income.decimals) == (1.5, False, 2)
    assert (income.period, income.rules) == ("2027", "ckm")
    assert hours == MagnitudeNoise.start()


@pytest.mark.parametrize(
    ("section", "fields"),
    [
        ('name = "income"', {}),
        ('name = "income"\nspread = 0.3', {"scale": MagnitudeNoise.start(spread=0.3).scale}),
        ('name = "income"\nshare = 0.3', {"scale": Proportional(share=0.3)}),
        ('name = "income"\ndecimals = "all"', {"decimals": None}),
        ('name = "income"\nsensitive = {}', {"sensitive": ()}),
        ('name = "income"\nbase = "range"', {"base": "range"}),
        (
            'name = "income"\nsigned = true',
            {"signed": True, "sensitive": (FewContributors(least=3),)},
        ),
        (
            'name = "income"\nrules = "cellkey"\nsame_key = false\nzero_keys = true',
            {
                "rules": "cellkey",
                "same_key": False,
                "zero_keys": True,
                "sensitive": (),
                "least_noise": 0.0,
                "decimals": None,
            },
        ),
        (
            'name = "income"\nrules = "tauargus"\nkey_decimals = 6',
            {
                "rules": "tauargus",
                "key_decimals": 6,
                "sensitive": (),
                "least_noise": 0.0,
                "decimals": None,
            },
        ),
    ],
)
def test_what_a_magnitude_does_not_say_is_what_noise_begins_with(folder, section, fields):
    meant = {
        name: getattr(MagnitudeNoise.start(), name)
        for name in MagnitudeNoise.__dataclass_fields__
    }
    assert noises(folder, section)["income"] == MagnitudeNoise(**(meant | fields))


def test_a_magnitude_without_a_name_is_that_of_all_other_variables(folder):
    text = JOB + '[[magnitude]]\nperiod = "2027"\n'
    made = load_noises(read(folder, text))
    assert (made["income"].period, made["hours"].period) == ("", "2027")


def test_ptables_of_amounts_are_read_from_files_and_by_parity(folder):
    MagnitudeNoise.start().ptable.write(folder / "amounts.parquet")
    made = noises(
        folder,
        'name = "income"\neven = { path = "amounts.parquet" }\n'
        "odd = { max_noise = 3, variance = 1.0 }",
    )["income"]
    assert made.even == MagnitudeNoise.start().ptable
    assert made.odd.counts.tolist() == [0, 1, 2, 3]
    assert made.ptable is None
    assert folder / "amounts.parquet" in read_job(folder / "job.toml").input_files()


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("spred = 0.1", "key 'spred' is unknown."),
        ("spread = 2.0", "spread must be at most 1."),
        ("spread = 0.1\nshare = 0.1", "spread and share say the same."),
        (
            "flex = { point = 5.0, small = 0.1, large = 0.2 }",
            "flex: The share of large amounts, 0.2, must not exceed that of small ones, 0.1.",
        ),
        ("flex = { point = 5.0, small = 0.1 }", "flex: large is missing."),
        (
            "flex = { pont = 5.0, point = 5.0, small = 0.1, large = 0.1 }",
            "flex: key 'pont' is unknown.",
        ),
        (
            'base = "sum"\nfactors = [1.0, 0.5]',
            "The noise of amounts cannot be used: the base 'sum' has one component, not 2.",
        ),
        (
            "named_cells = [{}]",
            (
                "named_cells must be a list of cells, each by its dimensions and categories, "
                "as texts."
            ),
        ),
        ('decimals = "none"', 'decimals must be "all", or a whole number from -15 to 15.'),
        (
            "sensitive = { dominance = { n = 9, percent = 80.0 } }",
            "sensitive.dominance: n must be at most 6.",
        ),
        ('ptable = { path = "nowhere" }', "ptable.path 'nowhere' does not exist."),
        (
            'ptable = { path = "people.parquet", step = 2 }',
            "ptable has both path and step.",
        ),
        (
            'rules = "cellkey"\ndecimals = 0',
            "decimals is for the program's own rules, not for 'cellkey'.",
        ),
        ('[[magnitude]]\nname = "income"', "the name occurs more than once."),
    ],
)
def test_a_wrong_setting_is_named_with_its_place(folder, setting, problem):
    with pytest.raises(JobError) as caught:
        read(folder, JOB.replace("unit = { en", setting + "\nunit = { en", 1))
    lines = [found.line() for found in caught.value.problems]
    assert f"[[magnitude]] 'income': {problem}" in lines


def test_a_mean_that_passes_over_missing_values_is_refused_by_its_table(folder):
    with pytest.raises(JobError, match="places': The measure 'mean:income' would count"):
        read(folder, JOB.replace('"mean:income"]', '"mean:income"]\nmissing_values = "skip"'))
    job = read(folder, JOB.replace('["sum:hours"]', '["sum:hours"]\nmissing_values = "skip"'))
    assert job.tables["hours"].missing_values == "skip"


def test_a_magnitude_that_no_table_sums_is_told(folder):
    job = read(folder, JOB + '[[magnitude]]\nname = "incme"\n')
    (warning,) = job.warnings
    assert "'incme' is a variable of no table" in warning
    assert warning.endswith("did you mean 'income'?")


def test_a_ptable_of_amounts_that_cannot_be_is_told_as_infeasible(folder):
    text = JOB.replace("unit = { en", "ptable = { max_noise = 2, variance = 9.0 }\nunit = { en")
    with pytest.raises(InfeasibleError):
        read(folder, text)
