"""Amounts in, published totals out; the program's own noise is unbiased and keyed."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from ckm.engine.key_mixing import siphash
from ckm.engine.magnitudes.noise.alike import as_published
from ckm.engine.magnitudes.noise.plan import plan_noise, require_finite, require_sound
from ckm.engine.magnitudes.other_tools.cellkey import trace_cellkey
from ckm.engine.magnitudes.other_tools.rotation import decimal_keys
from ckm.engine.magnitudes.other_tools.tauargus import trace_tauargus
from ckm.errors import ConfigError
from footing.messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ckm.engine.magnitudes.noise.alike import CountNoise
    from ckm.engine.magnitudes.noise.plan import NoisePlan
    from ckm.engine.magnitudes.settings import MagnitudeNoise
    from footing.arrays import Flags, Floats, Integers, Words
    from tables import Secret
    from tables.magnitudes.amounts import Magnitudes

Purpose: TypeAlias = Literal["noise", "jitter", "rounding"]
_KEYS = 2**64
_OWN = 2  # contributors of a sensitive cell whose noise is their own
_BITS = 52  # with the half after them they fit a float, so that nothing is rounded
_EXACT = 2.0**52


def perturb_magnitudes(
    magnitudes: Magnitudes,
    noise: MagnitudeNoise,
    *,
    secret: Secret | None = None,
    cell_keys: Words | None = None,
    counts: CountNoise | None = None,
) -> Floats:
    """Return the published total of every cell.

    Parameters
    ----------
    magnitudes
        The amounts.
    noise
        How they are perturbed.
    secret
        The secret of the release; the program's own rules need it, other tools' rules do not
        use it.
    cell_keys
        The keys of all records of every cell, for other tools' rules with `zero_keys`.
    counts
        The noise of counts, which sums of amounts that are alike have too, see
        `ckm.engine.magnitudes.noise.alike`. Without it, such sums tell their count.

    Returns
    -------
    numpy.ndarray
        Published totals, float64.

    Raises
    ------
    ConfigError
        If the secret or the cell keys are missing.
    MagnitudeError
        If the amounts do not fit the noise.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tables import Request, StoredKeys, cube, open_source
    >>> key = pa.array(range(8), pa.uint8())
    >>> turnover = [40.0, 30.0, 20.0, 10.0, 25.0, 25.0, 25.0, 25.0]
    >>> firms = pa.table({"town": [*"AAAABBBB"], "turnover": turnover, "key": key})
    >>> request = Request(dimensions=["town"], sums=["turnover"], top=6)
    >>> with open_source(firms) as source:
    ...     (cells,) = cube(source, StoredKeys(column="key"), [request])
    >>> from ckm import MagnitudeNoise
    >>> from tables import Secret
    >>> noise = MagnitudeNoise.start(spread=0.15)
    >>> turnover = cells.magnitudes["turnover"]
    >>> perturb_magnitudes(turnover, noise, secret=Secret(bytes(16))).tolist()
    [91.0, 100.0, 197.0]
    """
    if noise.rules == "ckm":
        if secret is None:
            raise ConfigError(
                Message("The noise of amounts needs the secret."),
                hint=Message('give it, or choose rules="cellkey" to repeat another tool'),
            )
        return own_totals(magnitudes, noise, secret=secret, counts=counts)
    require_finite(magnitudes, [magnitudes.total, magnitudes.top])
    keys = magnitudes.key
    if noise.zero_keys:
        if cell_keys is None:
            raise ConfigError(
                Message("With zero_keys the cell keys of all records are needed.")
            )
        keys = cell_keys
    if noise.rules == "cellkey":
        decimals = decimal_keys(keys, key_range=magnitudes.key_range)
        return trace_cellkey(magnitudes, noise, keys=decimals).totals
    trace = trace_tauargus(magnitudes, noise, keys=keys, key_range=magnitudes.key_range)
    return trace.totals


def own_totals(
    magnitudes: Magnitudes,
    noise: MagnitudeNoise,
    *,
    secret: Secret,
    counts: CountNoise | None = None,
) -> Floats:
    """Give the published totals under the program's own rules.

    ``X + sum_j s_j (v_j + m sign(v_j) + u_j)``: v_j from the row of the p-table at a keyed
    number of the contributors, the variable and j; m the least noise of sensitive cells; u_j
    uniform in half a step on either side, from another keyed number. Cells without
    contributors are published as 0. The result goes up or down to `decimals` by a third
    number, with the probabilities that keep its mean. In sensitive cells v and u of the two
    largest contributors come from their record keys: all such cells multiply them alike.
    """
    require_sound(magnitudes, noise)
    magnitudes, sensitive = as_published(magnitudes, noise, counts)
    plan = plan_noise(magnitudes, noise, sensitive=sensitive)
    numbers = _drawn(magnitudes, noise, secret, plan.sensitive)
    totals = magnitudes.total.copy()
    for cells, added in _components(plan, noise, numbers):
        totals[cells] += added
    if not noise.signed:  # only the rounding of floats can be below zero
        totals = np.maximum(totals, 0.0)
    totals[magnitudes.contributors == 0] = 0.0
    if noise.decimals is None:
        return totals
    cells = np.flatnonzero(totals)  # 0 stays 0
    fractions = keyed_fractions(numbers("rounding", 1, cells))
    totals[cells] = _rounded(totals[cells], noise.decimals, fractions)
    return totals


def trace_own(
    magnitudes: Magnitudes,
    noise: MagnitudeNoise,
    *,
    secret: Secret,
    counts: CountNoise | None = None,
) -> dict[str, Any]:
    """Give the steps from the amounts of a single cell to its published total; keep inside."""
    changed, sensitive = as_published(magnitudes, noise, counts)
    plan = plan_noise(changed, noise, sensitive=sensitive)
    numbers = _drawn(changed, noise, secret, plan.sensitive)
    alike = {}
    if changed.contributors[0] != magnitudes.contributors[0]:
        alike = {
            "contributors as counted": int(changed.contributors[0]),
            "sum of so many": float(changed.total[0]),
        }
    return {
        "original sum": float(magnitudes.total[0]),
        "contributors": int(magnitudes.contributors[0]),
        "their key": int(magnitudes.key[0]),
        **alike,
        "is sensitive": bool(plan.sensitive[0]),
        "row of its p-table": int(plan.row[0]),
        "units of noise": plan.steps[0].tolist(),
        "noises": [x for _, added in _components(plan, noise, numbers) for x in added.tolist()],
        "sum with noise": float(own_totals(magnitudes, noise, secret=secret, counts=counts)[0]),
    }


def _components(
    plan: NoisePlan, noise: MagnitudeNoise, numbers: Callable[[Purpose, int, Integers], Words]
) -> Iterator[tuple[Integers, Floats]]:
    """Give the cells that have each component of the noise, and that component."""
    for column in range(plan.steps.shape[1]):
        cells = np.flatnonzero(plan.steps[:, column] > 0)
        if not len(cells):
            continue
        units, widths = _units(plan, cells, numbers("noise", column + 1, cells))
        if noise.jitter:
            jitter = keyed_fractions(numbers("jitter", column + 1, cells))
            units += widths * (jitter - 0.5)
        yield cells, plan.steps[cells, column] * units


def _units(plan: NoisePlan, cells: Integers, keys: Words) -> tuple[Floats, Floats]:
    """Look the noise of one component up, in its units; return the width of the jitter too."""
    units, widths = np.zeros(len(cells)), np.zeros(len(cells))
    regime_of = plan.regime[cells]
    for place, regime in enumerate(plan.regimes):
        here = np.flatnonzero(regime_of == place)
        steps = regime.table.lookup(plan.row[cells[here]], keys[here], key_range=_KEYS)
        units[here] = steps / regime.table.step + regime.least_noise * np.sign(steps)
        widths[here] = regime.width
    return units, widths


def _drawn(
    magnitudes: Magnitudes, noise: MagnitudeNoise, secret: Secret, sensitive: Flags
) -> Callable[[Purpose, int, Integers], Words]:
    """Give the numbers of some cells; in sensitive ones the two largest have their own."""
    keyed = functools.partial(
        keyed_numbers,
        secret=secret,
        variable=magnitudes.variable,
        period=noise.period,
        settings=noise.fingerprint,
    )

    def numbers(purpose: Purpose, component: int, cells: Integers) -> Words:
        keys, is_own = magnitudes.key[cells], sensitive[cells]
        if purpose == "rounding" or not is_own.any():
            return keyed(keys, purpose=purpose, component=component)
        words = np.empty(len(cells), np.uint64)
        words[~is_own] = keyed(keys[~is_own], purpose=purpose, component=component)
        keys, number = keys[is_own], component
        if component <= _OWN:
            keys = magnitudes.first_keys[cells[is_own], component - 1]
            number = 1  # a contributor has one noise at either place
        words[is_own] = keyed(keys, purpose=f"sensitive {purpose}", component=number)
        return words

    return numbers


def _rounded(totals: Floats, decimals: int, fractions: Floats) -> Floats:
    """Round up with the probability of what lies beyond the multiple below."""
    unit = float(10 ** abs(decimals))
    fits = np.abs(totals) < (_EXACT / unit if decimals >= 0 else _EXACT * unit)
    values = np.where(fits, totals, 0.0)
    scaled = values * unit if decimals >= 0 else values / unit
    whole = np.floor(scaled)
    whole += fractions < scaled - whole
    rounded = whole / unit if decimals >= 0 else whole * unit
    return np.where(fits, rounded, totals)


def keyed_numbers(
    keys: Words,
    *,
    secret: Secret,
    variable: str,
    purpose: str,
    component: int = 1,
    period: str = "",
    settings: str = "",
) -> Words:
    """Turn sums of record keys into 64-bit numbers that nobody without the secret foresees.

    SipHash-2-4 of the key as 8 little-endian bytes, under the first 16 bytes of
    HMAC-SHA256(secret, text), where the text is the JSON list ``["ckm magnitude v1",
    variable, period, settings, purpose, component]`` without spaces. Numbers of different
    variables, periods, settings, purposes or components are independent for everybody without
    the secret.
    """
    text = json.dumps(
        ["ckm magnitude v1", variable, period, settings, purpose, component],
        separators=(",", ":"),
    )
    key = np.frombuffer(secret.derive(text)[:16], "<u8")
    return siphash(keys, key)


def keyed_fractions(numbers: Words) -> Floats:
    """Turn 64-bit numbers into the middles of 2**52 equal parts of [0, 1], exactly.

    Fraction and one minus fraction are equally likely, so that their mean is one half exactly.
    """
    upper = (numbers >> np.uint64(64 - _BITS)).astype(np.float64)
    return np.asarray((upper + 0.5) / 2.0**_BITS, np.float64)
