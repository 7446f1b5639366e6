"""The defects of earlier software, on the records that showed them."""

import numpy as np
import pandas as pd

from synth.baselines import dp_copula


def test_permuted_margins_give_compas_the_ages_that_were_reported(shared):
    """Ages 18 to 21 got 25, 316, 489 and 176 records instead of 6, 65, 298 and 460."""
    compas = pd.read_parquet(shared / "data" / "compas.parquet")[["age", "sex"]]
    model = dp_copula(
        compas,
        epsilon=1e9,
        domains=None,
        defects=["permuted-margins"],
        rng=np.random.default_rng(1),
    )
    heights = model.details["margins"][0].cumulative * len(compas)
    assert np.diff(heights[:4], prepend=0).round().tolist() == [25, 316, 489, 176]
    assert compas["age"].value_counts().sort_index().head(4).tolist() == [6, 65, 298, 460]
