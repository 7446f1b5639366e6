"""Linkage: from what is known of a person to what is not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ptable import PTable
from risk.anonymity.groups import as_pandas, columns_of, group_numbers
from risk.attacks.oracle import Analyst, AttackResult, Oracle
from risk.distributions.noise_distributions import noise_law
from risk.errors import RiskError
from risk.wellformed import require_integers, truth_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Linkage:
    """Link a known person to the one category that is published for people like her.

    The intruder knows that a person is in the data, and her place, sex or age: the line. Where
    a single category of a sensitive attribute has a published count above 0, it is hers.
    Zeros are kept, so that a published count above 0 has somebody behind it; but noise turns
    small counts into 0, and then the only category left may be another one.

    Parameters
    ----------
    n_categories
        Categories of the sensitive attribute, 2 or more.

    Notes
    -----
    Linking records needs records, and an oracle publishes counts. This is the closest that
    tables allow; `of_files` judges released records in the same words.

    Examples
    --------
    >>> published = lambda request: [0, 4, 0]
    >>> Linkage(n_categories=3).run(published, truth=[1]).rate
    1.0
    """

    n_categories: int

    def __post_init__(self) -> None:
        require_integers("an attack by linkage", n_categories=(self.n_categories, 2, 1000))

    def run(
        self, oracle: Oracle, *, truth: ArrayLike, closed_form: float | None = None
    ) -> AttackResult:
        """Ask for all categories of the line of one person after another.

        Parameters
        ----------
        oracle
            What publishes counts.
        truth
            The category of the person, by its place, per line 0, 1, ...
        closed_form
            The probability to report beside the rate.

        Returns
        -------
        AttackResult
            The persons whose category is the only one published above 0. A line with a refusal
            is missed.

        Examples
        --------
        >>> Linkage(n_categories=2).run(lambda request: [3, 3], truth=[0, 1]).successes
        0
        """
        places = truth_of(truth)
        if places.max() >= self.n_categories:
            raise RiskError(f"truth must hold places from 0 to {self.n_categories - 1}.")
        groups = tuple((place,) for place in range(self.n_categories))
        analyst = Analyst("linkage", oracle, closed_form)
        for line, own in enumerate(places.tolist()):
            answers = analyst.ask_all(groups, line=line)
            if answers is not None:
                analyst.successes += np.flatnonzero(answers).tolist() == [own]
        return analyst.result(trials=len(places))

    def closed_form(self, ptable: PTable, *, counts: ArrayLike, truth: ArrayLike) -> float:
        """Give the expected share of persons that are linked, under a keyed mix.

        Parameters
        ----------
        ptable
            The p-table.
        counts
            The original counts, line by category.
        truth
            The category of the person of each line, by its place.

        Notes
        -----
        Per line ``P(own > 0) Π P(other = 0)``: different cells have independent noise.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> table = solve(NoiseSpec(max_noise=2, variance=1.0))
        >>> Linkage(n_categories=2).closed_form(table, counts=[[0, 9]], truth=[1])
        1.0
        """
        lines = truth_of(counts, n_columns=self.n_categories)
        places = truth_of(truth)
        if len(places) != len(lines) or places.max() >= self.n_categories:
            raise RiskError(
                f"truth must hold one place from 0 to {self.n_categories - 1} per line."
            )
        own = lines[np.arange(len(lines)), places]
        if not own.all():
            raise RiskError("A person counts in her own category; some of these are empty.")
        kinds, where = np.unique(lines, return_inverse=True)
        hidden = [float(noise_law(ptable, count=c).at(-c)) for c in kinds.tolist()]
        p_hidden = np.array(hidden)[where].reshape(lines.shape)
        p_own = p_hidden[np.arange(len(lines)), places].copy()
        p_hidden[np.arange(len(lines)), places] = 1.0
        return float(((1 - p_own) * p_hidden.prod(axis=1)).mean())

    @staticmethod
    def of_files(
        released: Any, known: Any, *, quasi_identifiers: Sequence[str], identity: str
    ) -> AttackResult:
        """Link released records with a known file by what both say of a person.

        Parameters
        ----------
        released, known, quasi_identifiers, identity
            Both files, the columns to link by, and the one that tells who it is.

        Returns
        -------
        AttackResult
            Its trials are the released records; a hit is one that is alone with its
            quasi-identifiers in both files, and linked to its own.

        Examples
        --------
        >>> released = {"age": [19, 27, 27], "id": [1, 2, 3]}
        >>> known = {"age": [19, 27, 27], "id": [1, 2, 3]}
        >>> Linkage.of_files(
        ...     released, known, quasi_identifiers=["age"], identity="id"
        ... ).successes
        1
        """
        found = link(released, known, quasi_identifiers=quasi_identifiers, identity=identity)
        return AttackResult(
            name="linkage of files",
            successes=found.n_correct_unique or 0,
            trials=found.n_records,
            queries=0,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Links:
    """Hold what linking two files by quasi-identifiers gives; for inside use only.

    Parameters
    ----------
    n_records
        Records of the file attacked.
    n_unique
        How many of them are alone with their quasi-identifiers in that file.
    n_matched
        How many have at least one record of the other file with the same ones.
    n_unique_in_both
        How many are alone with theirs in both files, so that there is one link.
    n_known_alike
        How many records of the other file have the quasi-identifiers of one alone in the first.
    expected_correct
        The expected number of correct links when every matched record is linked to one of the
        records alike, at random.
    n_correct_unique
        How many of the links between records alone in both files are correct; None without
        identities.
    """

    n_records: int
    n_unique: int
    n_matched: int
    n_unique_in_both: int
    n_known_alike: int
    expected_correct: float
    n_correct_unique: int | None

    def __repr__(self) -> str:
        return "Links(…)"


def link(
    released: Any,
    known: Any,
    *,
    quasi_identifiers: Sequence[str],
    identity: str | None = None,
) -> Links:
    """Link a released file with one an intruder knows, by columns that both have.

    A released record with ``m`` records alike in the known file is linked correctly with
    probability ``1 / m`` if its own is among them, else never.
    """
    import pandas as pd

    if not quasi_identifiers:
        raise RiskError("Linking needs at least one quasi-identifier.")
    names = list(quasi_identifiers) + ([identity] if identity else [])
    left, right = as_pandas(released), as_pandas(known)
    columns_of(left, names)
    columns_of(right, names)
    n_left = len(left)
    both = {
        name: pd.concat(
            [left[name].astype(object), right[name].astype(object)], ignore_index=True
        )
        for name in names
    }
    columns = columns_of(both, names)
    groups, first = group_numbers([c.codes for c in columns[: len(quasi_identifiers)]])
    here, there = groups[:n_left], groups[n_left:]
    n_here = np.bincount(here, minlength=len(first))[here]
    n_there = np.bincount(there, minlength=len(first))[here]
    is_single = (n_here == 1) & (n_there == 1)
    is_among = n_there > 0
    if identity:
        is_among &= _own_is_alike(columns[-1].codes, groups, n_left)
    return Links(
        n_records=n_left,
        n_unique=int((n_here == 1).sum()),
        n_matched=int((n_there > 0).sum()),
        n_unique_in_both=int(is_single.sum()),
        n_known_alike=int(n_there[n_here == 1].sum()),
        expected_correct=float((1 / n_there[is_among]).sum()),
        n_correct_unique=int((is_single & is_among).sum()) if identity else None,
    )


def _own_is_alike(
    identities: NDArray[np.int64], groups: NDArray[np.int64], n_left: int
) -> NDArray[np.bool_]:
    """Tell which left records have their own right record in their group."""
    right = identities[n_left:]
    if len(np.unique(right)) < len(right):
        raise RiskError("The identity must be unique in the known file; some repeat.")
    group_of = np.full(int(identities.max()) + 1, -1, dtype=np.int64)
    group_of[right] = groups[n_left:]
    is_alike: NDArray[np.bool_] = group_of[identities[:n_left]] == groups[:n_left]
    return is_alike
