"""Series: changes are tested with the errors that permanent responses leave."""

import numpy as np
import pytest

from rappor.client.bloom import every_bit
from rappor.counts import Counts
from rappor.decoding.candidates import Candidates
from rappor.decoding.series import _regressed, series
from rappor.errors import MismatchError, RapporError
from rappor.parameters import Parameters

BASIC = Parameters.basic(6, f=0.5, p=0.25, q=0.75)
BLOOM = Parameters(n_bits=16, n_hashes=1, n_cohorts=8, f=0.25, p=0.2, q=0.7)
NAMES = [f"v{n}" for n in range(6)]


def candidates(parameters):
    return Candidates.of(NAMES, parameters=parameters)


def panel(parameters, *, weeks, rng, n=4000, shares=None):
    """Draw the weeks of clients that keep their answers: only the noise is drawn anew."""
    m, k = parameters.n_cohorts, parameters.n_bits
    values = list(range(6)) if parameters.hash == "index" else NAMES
    held = rng.multinomial(n, shares or [1 / 6] * 6)
    by_cohort = rng.multinomial(held, np.full(m, 1 / m))
    places = every_bit(values, parameters=parameters)
    setting = np.zeros((m, k), np.int64)
    for cohort in range(m):
        for value, bits in enumerate(places[:, cohort]):
            setting[cohort, np.unique(bits[bits >= 0])] += by_cohort[value, cohort]
    total = by_cohort.sum(axis=0)
    half = parameters.f / 2
    ones = rng.binomial(setting, 1 - half) + rng.binomial(total[:, None] - setting, half)
    return {
        f"W{week:02d}": Counts(
            n=total,
            ones=rng.binomial(ones, parameters.q)
            + rng.binomial(total[:, None] - ones, parameters.p),
            parameters=parameters,
        )
        for week in range(weeks)
    }


def false_changes(parameters, *, collections, weeks, is_panel):
    """Count weeks in which any change is significant, where nobody changes."""
    rng = np.random.default_rng(3)
    alarms = total = 0
    errors = []
    for _ in range(collections):
        found = series(
            panel(parameters, weeks=weeks, rng=rng), candidates(parameters), is_panel=is_panel
        )
        alarms += sum(bool(change.is_significant.any()) for change in found.changes)
        total += len(found.changes)
        errors += [change.estimates / change.sds for change in found.changes]
    return alarms, total, float(np.std(errors))


@pytest.mark.parametrize("parameters", [BASIC, BLOOM])
def test_changes_of_a_panel_have_the_errors_they_say(parameters):
    _, _, spread = false_changes(parameters, collections=2, weeks=15, is_panel=True)
    assert spread == pytest.approx(1, abs=0.15)
    _, _, safe = false_changes(parameters, collections=2, weeks=15, is_panel=False)
    assert safe < 0.96 * spread  # the permanent noise is the same in both weeks


@pytest.mark.long
@pytest.mark.parametrize("parameters", [BASIC, BLOOM])
@pytest.mark.parametrize("is_panel", [True, False])
def test_no_change_is_significant_in_one_week_of_twenty_at_most(parameters, is_panel):
    alarms, total, _ = false_changes(parameters, collections=40, weeks=51, is_panel=is_panel)
    assert total == 2000
    # 5 % within three standard errors of 2,000 weeks; consecutive weeks share one of theirs.
    assert alarms / total <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / total) * np.sqrt(1.5)


def test_a_panel_finds_a_change_that_other_clients_would_hide():
    rng = np.random.default_rng(5)
    few, more = [0.10, 0.30, *[0.15] * 4], [0.14, 0.26, *[0.15] * 4]
    found = {True: 0, False: 0}
    for _ in range(10):
        before = panel(BASIC, weeks=1, rng=rng, n=30_000, shares=few)["W00"]
        # A twenty-fifth of the clients change from the second value to the first.
        moved = panel(BASIC, weeks=1, rng=rng, n=30_000, shares=more)["W00"]
        for is_panel in found:
            result = series({"a": before, "b": moved}, candidates(BASIC), is_panel=is_panel)
            found[is_panel] += int(result.changes[0].is_significant[:2].sum())
    assert found[True] >= found[False] > 5


def test_the_mean_of_a_panel_does_not_beat_its_permanent_noise():
    rng = np.random.default_rng(2)
    means, sds = [], []
    for _ in range(60):
        weeks = [*panel(BASIC, weeks=30, rng=rng).values()]
        mean, sd, _ = _regressed(
            weeks, candidates(BASIC), weights=(1 / 30,) * 30, is_panel=True
        )
        means.append(mean[0])
        sds.append(sd[0])
    # That of the draw of answers among it, as the counts of clients are drawn anew here.
    assert np.std(means) == pytest.approx(np.mean(sds), rel=0.25)
    one = series(panel(BASIC, weeks=2, rng=rng), candidates(BASIC))
    assert np.mean(sds) > one.decodings[0].sds[0] / 4000 / np.sqrt(30) * 2


def test_a_frame_has_a_line_for_each_period_and_candidate():
    found = series(
        panel(BLOOM, weeks=3, rng=np.random.default_rng(1)), candidates(BLOOM), is_panel=True
    )
    frame = found.to_frame()
    assert len(frame) == 18
    assert frame["change"].isna().sum() == 6
    assert (frame["low"] < frame["share"]).all()


def test_one_period_or_other_parameters_are_refused():
    rng = np.random.default_rng(1)
    with pytest.raises(RapporError, match="two periods"):
        series(panel(BASIC, weeks=1, rng=rng), candidates(BASIC))
    mixed = {
        "a": panel(BASIC, weeks=1, rng=rng)["W00"],
        "b": panel(Parameters.basic(6, f=0.25, p=0.25, q=0.75), weeks=1, rng=rng)["W00"],
    }
    with pytest.raises(MismatchError):
        series(mixed, candidates(BASIC))
