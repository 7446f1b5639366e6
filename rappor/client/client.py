"""The client: from a value to a report that may leave the device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Flags, Integers
from footing.messages import Message, Shape
from rappor.client.bernoulli import bytes_source, flip
from rappor.client.bloom import Clients, Values
from rappor.client.bloom import bits as bits_of
from rappor.client.permanent import SecretKey, cohorts_of, permanent, permanent_key
from rappor.encoded import Reports
from rappor.errors import RapporError
from rappor.parameters import Parameters

_CHUNK_BITS = 2**20  # work in pieces that stay near the processor


class Client:
    """One device, or one person: its secret, its cohort, and a report whenever asked.

    It keeps no state. The permanent response is a function of the secret, the metric, the
    client and the bits of the value, so that it is the same after a restart and on any
    machine; the instantaneous response is drawn anew from the operating system's randomness.

    Parameters
    ----------
    parameters
        The parameters of the collection.
    secret
        Made by ``ckm keys secret``, kept on the device.
    metric
        The name of the question.
    client
        Tells the clients that share one secret apart.
    cohort
        By default a function of the secret and the client.

    Examples
    --------
    >>> from tables import Secret
    >>> from rappor import Parameters
    >>> paper = Parameters(n_bits=128, n_hashes=2, n_cohorts=16, f=0.5, p=0.5, q=0.75)
    >>> device = Client(paper, secret=Secret.generate(), metric="home page")
    >>> len(device.encode("example.org").texts()[0])
    128
    """

    __slots__ = ("_client", "_key", "cohort", "metric", "parameters")

    def __init__(
        self,
        parameters: Parameters,
        *,
        secret: SecretKey,
        metric: str,
        client: str | bytes | int = b"",
        cohort: int | None = None,
    ) -> None:
        self.parameters = parameters
        self.metric = metric
        self._client = _identifier(client)
        self._key = permanent_key(secret, metric=metric, parameters=parameters)
        if cohort is None:
            (number,) = cohorts_of(
                [self._client], secret=secret, n_cohorts=parameters.n_cohorts
            )
            cohort = int(number)
        self.cohort = cohort

    def __repr__(self) -> str:
        return f"Client(metric={self.metric!r}, cohort={self.cohort})"

    def __reduce__(self) -> NoReturn:
        msg = Message("A client holds a key and cannot be pickled.")
        raise TypeError(msg)

    def permanent(self, value: object) -> Flags:
        """Give the permanent response to a value. It stays on the device.

        Parameters
        ----------
        value
            The true value.

        Examples
        --------
        >>> from tables import Secret
        >>> from rappor import Parameters
        >>> coin = Parameters.basic(4, f=0.5, p=0.25, q=0.75)
        >>> person = Client(coin, secret=Secret(bytes(16)), metric="age")
        >>> bool((person.permanent(2) == person.permanent(2)).all())
        True
        """
        bloom = bloom_filter([value], np.array([self.cohort]), parameters=self.parameters)
        response = permanent(bloom, [self._client], key=self._key, f=self.parameters.f)
        return response.reshape(-1)

    def encode(self, value: object, *, rng: np.random.Generator | None = None) -> Reports:
        """Make one report.

        Parameters
        ----------
        value
            The true value.
        rng
            For simulations alone; by default the operating system's randomness.

        Examples
        --------
        >>> from tables import Secret
        >>> from rappor import Parameters
        >>> sure = Parameters.basic(4, f=0.0, p=0.0, q=1.0)
        >>> Client(sure, secret=Secret(bytes(16)), metric="age").encode(2).texts()
        ['0100']
        """
        row = self.permanent(value)[None, :]
        return _instantaneous(row, np.array([self.cohort]), self.parameters, rng)


def encode(
    values: Values,
    clients: Clients,
    *,
    parameters: Parameters,
    secret: SecretKey,
    metric: str,
    cohorts: Integers | None = None,
    rng: np.random.Generator | None = None,
) -> Reports:
    """Make one report for each value, as the clients would one by one.

    Parameters
    ----------
    values
        The true values.
    clients
        The identifier of each value's client.
    parameters
        The parameters of the collection.
    secret
        The secret that all permanent responses derive from.
    metric
        The name of the question.
    cohorts
        The cohort of each value's client; by default a function of secret and client.
    rng
        For simulations alone; by default the operating system's randomness.

    Returns
    -------
    Reports
        In the order of the values.

    Raises
    ------
    RapporError
        If a value cannot be encoded or the lengths differ.

    Examples
    --------
    >>> from tables import Secret
    >>> from rappor import Parameters
    >>> sure = Parameters.basic(4, f=0.0, p=0.0, q=1.0)
    >>> encode(
    ...     [2, 0], ["ann", "bob"], parameters=sure, secret=Secret(bytes(16)), metric="a"
    ... ).texts()
    ['0100', '0001']
    """
    pieces = list(
        encode_stream(
            values,
            clients,
            parameters=parameters,
            secret=secret,
            metric=metric,
            cohorts=cohorts,
            rng=rng,
        )
    )
    width = -(-parameters.n_bits // 8)
    empty = np.empty((0, width), np.uint8)
    return Reports(
        cohorts=np.concatenate([np.empty(0, np.int64), *(piece.cohorts for piece in pieces)]),
        packed=np.concatenate([empty, *(piece.packed for piece in pieces)]),
        parameters=parameters,
    )


def encode_stream(
    values: Values,
    clients: Clients,
    *,
    parameters: Parameters,
    secret: SecretKey,
    metric: str,
    cohorts: Integers | None = None,
    rng: np.random.Generator | None = None,
) -> Iterator[Reports]:
    """Make the reports of `encode` piece by piece, to be written or summed as they come.

    Parameters
    ----------
    values, clients, parameters, secret, metric, cohorts, rng
        As for `encode`.

    Examples
    --------
    >>> from tables import Secret
    >>> from rappor import Parameters
    >>> sure = Parameters.basic(4, f=0.0, p=0.0, q=1.0)
    >>> pieces = encode_stream([2], [7], parameters=sure, secret=Secret(bytes(16)), metric="a")
    >>> [piece.texts() for piece in pieces]
    [['0100']]
    """
    if len(values) != len(clients) or (cohorts is not None and len(cohorts) != len(values)):
        raise RapporError(
            Message("Each value needs one client, and one cohort if cohorts are given.")
        )
    key = permanent_key(secret, metric=metric, parameters=parameters)
    step = max(1, _CHUNK_BITS // parameters.n_bits)
    for start in range(0, len(values), step):
        part = slice(start, start + step)
        names = identifiers(clients[part])
        places = (
            cohorts_of(names, secret=secret, n_cohorts=parameters.n_cohorts)
            if cohorts is None
            else np.asarray(cohorts[part])
        )
        if parameters.response == "symbol" and not parameters.f:
            symbols = bits_of(values[part], places, parameters=parameters)[:, 0]
            yield _reports_of_symbols(symbols, places, parameters, rng)
            continue
        bloom = bloom_filter(values[part], places, parameters=parameters)
        responses = permanent(bloom, names, key=key, f=parameters.f)
        yield _instantaneous(responses, places, parameters, rng)


def bloom_filter(values: Values, cohorts: Integers, *, parameters: Parameters) -> Flags:
    """Give each value's bits as a row of yes and no."""
    places = bits_of(values, cohorts, parameters=parameters)
    rows = np.zeros((len(places), parameters.n_bits), bool)
    row, column = np.nonzero(places >= 0)
    rows[row, places[row, column]] = True
    return rows


def _instantaneous(
    responses: Flags, cohorts: Integers, parameters: Parameters, rng: np.random.Generator | None
) -> Reports:
    if parameters.response == "symbol":
        return _reports_of_symbols(responses.argmax(axis=1), cohorts, parameters, rng)
    source = bytes_source(rng)
    answers = flip(responses, p=parameters.p, q=parameters.q, source=source)
    return Reports.from_bits(answers, cohorts, parameters=parameters)


def _reports_of_symbols(
    symbols: Integers,
    cohorts: Integers,
    parameters: Parameters,
    rng: np.random.Generator | None,
) -> Reports:
    """Keep each symbol, or draw it anew from all k of them with probability ``k p``.

    The one bit of each report is set where it is packed: no row of k flags is made.
    """
    n, k, source = len(symbols), parameters.n_bits, bytes_source(rng)
    is_new = flip(np.ones(n, bool), p=0.0, q=k * parameters.p, source=source)
    others = np.frombuffer(source(8 * n), "<u8") % np.uint64(k)
    answers = np.where(is_new, others.astype(np.int64), symbols)
    packed = np.zeros((n, -(-k // 8)), np.uint8)
    packed[np.arange(n), answers >> 3] = np.left_shift(1, answers & 7)
    return Reports(cohorts=cohorts, packed=packed, parameters=parameters)


def identifiers(clients: Sequence[Any] | NDArray[np.generic]) -> list[bytes]:
    """Give clients as bytes: a whole number is its text."""
    items = clients.tolist() if isinstance(clients, np.ndarray) else clients
    kinds = set(map(type, items))
    if kinds == {int}:
        return [b"%d" % client for client in items]
    if kinds == {str}:
        return [client.encode("utf-8", "surrogatepass") for client in items]
    return [_identifier(client) for client in items]


def _identifier(client: object) -> bytes:
    if isinstance(client, bytes):
        return client
    if isinstance(client, str):
        return client.encode("utf-8", "surrogatepass")
    if isinstance(client, (int, np.integer)) and not isinstance(client, bool):
        return str(int(client)).encode()
    raise RapporError(
        Message(
            "A client must be named by a text, bytes or a whole number, not {name}.",
            name=Shape(type(client)),
        ),
        hint=Message("drop the records whose client is missing"),
    )
