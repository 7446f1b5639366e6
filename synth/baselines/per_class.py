"""A model for each value of a column, such as a vine for each cluster of records."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from footing.messages import Message, Name
from synth.baselines.model import Account, BaselineModel, Charge
from synth.errors import SynthError
from synth.sanitisers.frames import as_pandas


def fit_per_class(
    frame: Any, *, by: str, fit: Callable[[pd.DataFrame], BaselineModel]
) -> BaselineModel:
    """Fit a method to the records of each class apart, and draw classes in their shares.

    It is **not** differentially private, whatever the method is: which classes there are and
    their shares are read off the records. A record that is replaced may leave one class for
    another, so the account holds the charges of the two dearest models.

    Parameters
    ----------
    frame
        The records.
    by
        The column of the classes or clusters, without missing values.
    fit
        What fits a method to records without that column.

    References
    ----------
    Gambs, Ladouceur, Laurent, Roy-Gaumond 2021, further work: one vine for each class.

    Examples
    --------
    >>> from synth.baselines.copulas.copula_shirley import vine_without_privacy
    >>> x = np.arange(200) % 20
    >>> frame = {"up": x % 2 == 0, "a": x, "b": np.where(x % 2 == 0, x, 20 - x)}
    >>> model = fit_per_class(
    ...     frame, by="up", fit=lambda part: vine_without_privacy(part, families=["gaussian"])
    ... )
    >>> drawn = model.sample(400, np.random.default_rng(1))
    >>> [round(float(part.a.corr(part.b)), 1) for _, part in drawn.groupby("up")]
    [-1.0, 1.0]
    """
    table = as_pandas(frame)
    if by not in table.columns:
        raise SynthError(Message("There is no column {by!r}.", by=Name(by)))
    if table.empty:
        raise SynthError(Message("There are no records to learn from."))
    if table[by].isna().any():
        raise SynthError(
            Message("Column {by!r} has missing values.", by=Name(by)),
            hint=Message("give them a class"),
        )
    parts = dict(iter(table.groupby(by, observed=True)))
    models = {value: fit(part.drop(columns=by)) for value, part in parts.items()}
    shares = np.array([len(part) for part in parts.values()]) / len(table)
    accounts = [model.account for model in models.values()]
    account = Account(claimed=max(one.claimed for one in accounts))
    account.pay(Charge(part="classes", what=by, epsilon=math.inf))
    for one in sorted(accounts, key=Account.spent)[-2:]:
        account.charges.extend(one.charges)

    def draw(n: int, source: np.random.Generator) -> pd.DataFrame:
        sizes = source.multinomial(n, shares).tolist()
        frames = [
            model.sample(size, source).assign(**{by: value})
            for (value, model), size in zip(models.items(), sizes, strict=True)
            if size
        ]
        records = pd.concat(frames).sample(frac=1, random_state=source, ignore_index=True)
        return records[list(table.columns)].astype({by: table[by].dtype})

    name = next(iter(models.values())).label.removesuffix(", NOT DP as claimed")
    return BaselineModel(
        label=account.label(f"{name}, for each {by}"),
        account=account,
        draw=draw,
        details={"models": models},
    )
