"""What a ledger keeps is sealed: without the secret it is noise, and it cannot be altered."""

import hashlib
import hmac
import os
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ckm.engine.key_mixing import siphash
from footing.arrays import Words
from tables import Secret

_CHUNK = 2**26  # hashlib limits what one call squeezes out of SHAKE
_NONCE = _MAC = 16
_LENGTH = 8
_LEAST = 4096
_PURPOSES = 16


class Seal:
    """Digests and seals under keys derived from one secret.

    Parameters
    ----------
    secret
        The secret of the ledger.

    Notes
    -----
    Encrypt, then authenticate: the text is combined with SHAKE-256 of key, a fresh nonce and
    a counter, a keyed sponge being a pseudo-random function; then keyed BLAKE2b covers what
    stands beside it, the nonce and the sealed text. Texts are padded, so that a length tells
    the number of cells no closer than within a sixteenth of a power of two.

    References
    ----------
    FIPS 202 (SHAKE); RFC 7693 (BLAKE2); Bellare and Namprempre (2008), Authenticated
    encryption: relations among notions, Journal of Cryptology 21(4).
    """

    def __init__(self, secret: Secret) -> None:
        self._secret = secret
        self._cipher = secret.derive("ckm ledger cipher v1")
        self._mac = secret.derive("ckm ledger seal v1")
        self._named = secret.derive("ckm ledger definition v1")
        self._chain = secret.derive("ckm ledger chain v1")
        stream = hashlib.shake_256(secret.derive("ckm ledger digests v2"))
        keys = np.frombuffer(stream.digest(_PURPOSES * 24), "<u8").astype(np.uint64)
        self._keys = keys[: 2 * _PURPOSES].reshape(2, _PURPOSES)
        self._factors = keys[2 * _PURPOSES :] | np.uint64(1)

    @property
    def check(self) -> str:
        """What tells whether a ledger was made with this secret."""
        return self._secret.derive("ckm ledger check v1").hex()

    def close(self, text: bytes, *, beside: bytes) -> bytes:
        """Seal a text together with what stands open beside it."""
        padded = len(text).to_bytes(_LENGTH, "big") + text
        padded += bytes(_padded(len(padded)) - len(padded))
        nonce = os.urandom(_NONCE)
        sealed = nonce + self._combine(padded, nonce)
        return self._authenticate(sealed, beside) + sealed

    def open(self, sealed: bytes, *, beside: bytes) -> bytes | None:
        """Return the text, or None when it or what stands beside it was altered."""
        mac, sealed = sealed[:_MAC], sealed[_MAC:]
        if not hmac.compare_digest(mac, self._authenticate(sealed, beside)):
            return None
        padded = self._combine(sealed[_NONCE:], sealed[:_NONCE])
        size = int.from_bytes(padded[:_LENGTH], "big")
        return padded[_LENGTH : _LENGTH + size]

    def link(self, before: bytes, number: int, sealed: bytes) -> bytes:
        """Return the link of an entry, bound to its number and all entries before it."""
        return self._tag(b"link", before, number.to_bytes(_LENGTH, "big"), sealed[:_MAC])

    def head(self, number: int, link: bytes, settings: Mapping[str, str]) -> bytes:
        """Return what tells that a ledger ends with an entry and has these settings."""
        texts = [text.encode() for item in sorted(settings.items()) for text in item]
        return self._tag(b"head", number.to_bytes(_LENGTH, "big"), link, *texts)

    def digest(self, text: bytes) -> bytes:
        """Return a keyed digest of 16 bytes, by which a text is recognised."""
        return hashlib.blake2b(text, key=self._named, digest_size=16).digest()

    def folded(self, columns: Sequence[Words]) -> Words:
        """Return one word for each row; equal rows have equal words.

        Rows are added up with secret odd factors modulo 2**64. Rows that differ meet with a
        probability of about 2**(z - 64), where 2**z divides all their differences.
        """
        total = np.zeros(len(columns[0]), np.uint64)
        for column, factor in zip(columns, self._factors, strict=False):
            total += column * factor
        return total

    def digests(self, words: Words, purposes: NDArray[np.integer] | int) -> Words:
        """Return keyed digests of words; those of different purposes never meet.

        SipHash-1-3, as in Python itself, under one key for each purpose.
        """
        keys = np.broadcast_to(self._keys[:, np.atleast_1d(purposes)], (2, len(words)))
        return siphash(words, keys, rounds=(1, 3))

    def _tag(self, *parts: bytes) -> bytes:
        tag = hashlib.blake2b(key=self._chain, digest_size=_MAC)
        for part in parts:
            tag.update(len(part).to_bytes(_LENGTH, "big") + part)
        return tag.digest()

    def _combine(self, text: bytes, nonce: bytes) -> bytes:
        answer = np.frombuffer(text, np.uint8).copy()
        for number, start in enumerate(range(0, len(text), _CHUNK)):
            part = answer[start : start + _CHUNK]
            stream = hashlib.shake_256(self._cipher + nonce + number.to_bytes(8, "big"))
            part ^= np.frombuffer(stream.digest(len(part)), np.uint8)
        return answer.tobytes()

    def _authenticate(self, sealed: bytes, beside: bytes) -> bytes:
        mac = hashlib.blake2b(key=self._mac, digest_size=_MAC)
        mac.update(len(beside).to_bytes(_LENGTH, "big") + beside)
        mac.update(sealed)
        return mac.digest()


def _padded(size: int) -> int:
    step = max(1 << max(size.bit_length() - 4, 0), _LEAST)
    return -(-size // step) * step
