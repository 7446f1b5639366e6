"""What everybody may ask, asked together, tells no more than the audit says."""

import logging

import numpy as np
import pandas as pd
import pytest

from bench.red_team import attack

SIZES = {"place": 5, "sex": 2, "race": 4, "age10": 4}


@pytest.fixture
def people():
    """Draw 6,000 people, of whom few are in most of the 160 cells."""
    rng = np.random.default_rng(45)
    texts = {}
    for name, size in SIZES.items():
        share = (1 if name == "place" else 0.35) ** np.arange(size)  # each area is shown
        texts[name] = rng.choice(
            [f"{name}{n}" for n in range(size)], 6000, p=share / share.sum()
        )
    return pd.DataFrame({"person_id": [f"p{n}" for n in range(6000)], **texts})


@pytest.mark.slow
def test_requests_of_the_public_together_tell_no_more_than_the_audit_says(
    tmp_path, people, caplog
):
    caplog.set_level(logging.ERROR)
    outcome = attack(tmp_path, people, seed=1, pairs=5)
    assert (outcome.zones, outcome.percentages, outcome.margins) == (0, 0, 0)
    assert outcome.least_squares <= outcome.audit
    assert outcome.statements > 0
    assert outcome.right / outcome.statements >= outcome.empty
