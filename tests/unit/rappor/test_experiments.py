"""The sources' experiments: their populations, and what a decoder finds of them."""

import numpy as np
import pytest

from rappor.decoding.candidates import Candidates
from rappor.decoding.decode import decode
from rappor.errors import RapporError
from rappor.experiments import source_experiment
from rappor.presets import PRESETS


def found(source, *, correction, seed=1):
    numbers, counts = source.draw(rng=np.random.default_rng(seed))
    candidates = Candidates.of(list(source.candidates), parameters=source.parameters)
    result = decode(counts, candidates, correction=correction)
    truth = numbers[np.array(source.is_candidate)]
    return result, truth


def test_candidates_that_nobody_holds_and_values_that_nobody_seeks_are_there():
    paper, google = source_experiment("exponential"), source_experiment("google")
    assert (len(paper.candidates), int((paper.weights == 0).sum())) == (200, 100)
    assert len(google.candidates) == 190
    missing = [
        v
        for v, is_sought in zip(google.values, google.is_candidate, strict=True)
        if not is_sought
    ]
    assert missing == [f"v{n}" for n in range(9, 100, 10)]
    with pytest.raises(RapporError, match="no experiment"):
        source_experiment("other")


def test_what_is_found_lies_in_the_bands_of_the_sources():
    # Those of 200 repetitions of the sources' decoder, widened to their largest range.
    result, truth = found(source_experiment("exponential"), correction="benjamini-hochberg")
    assert 38 <= result.is_detected.sum() <= 54
    assert (result.is_detected & (truth == 0)).sum() <= 6
    assert result.is_detected[truth > 0.02 * truth.sum()].all()
    result, truth = found(source_experiment("exponential"), correction="bonferroni")
    assert 27 <= result.is_detected.sum() <= 39
    result, truth = found(source_experiment("google"), correction="benjamini-hochberg")
    assert 34 <= result.is_detected.sum() <= 60
    assert (result.is_detected & (truth == 0)).sum() <= 6


def test_the_bell_is_there_with_a_million_reports_and_not_with_ten_thousand():
    source = source_experiment("normal")
    shares = source.weights / source.weights.sum()
    fits = []
    for n_reports in (10_000, 1_000_000):
        _, counts = source.draw(n_reports=n_reports, rng=np.random.default_rng(1))
        candidates = Candidates.of(list(source.values), parameters=source.parameters)
        result = decode(counts, candidates)
        fits.append(np.corrcoef(result.estimates, shares)[0, 1])
    assert fits[0] < 0.9
    assert fits[1] > 0.99


def test_presets_cost_what_their_sources_say():
    losses = {
        name: (round(p.parameters.epsilon_one, 4), round(p.parameters.epsilon_permanent, 3))
        for name, p in PRESETS.items()
    }
    assert losses["paper"] == (1.0743, 4.394)
    assert losses["homepages"] == (0.5343, 2.043)
    assert losses["chrome-normal"] == (2.0433, 4.394)
    assert losses["chrome-sparse"][0] == 3.1538
    assert losses["google-demo"] == (1.0217, 2.197)
    assert losses["mozilla"][1] == float("inf")
