"""What a ledger keeps is sealed: without the secret it is noise, and it cannot be altered."""

from __future__ import annotations

import hashlib
import hmac
import os
from typing import TYPE_CHECKING

import numpy as np

from ckm.mix import siphash

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tables import Secret

__all__ = ["Seal"]

_CHUNK = 2**26  # hashlib limits what one call squeezes out of SHAKE
_NONCE = _MAC = 16
_LENGTH = 8
_LEAST = 4096


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

    Examples
    --------
    >>> from tables import Secret
    >>> seal = Seal(Secret(bytes(16)))
    >>> seal.open(seal.close(b"text", beside=b"date"), beside=b"date")
    b'text'
    """

    def __init__(self, secret: Secret) -> None:
        self._secret = secret
        self._cipher = secret.derive("ckm ledger cipher v1")
        self._mac = secret.derive("ckm ledger seal v1")

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

    def digest(self, text: bytes) -> bytes:
        """Return a keyed digest of 16 bytes, by which a text is recognised."""
        key = self._secret.derive("ckm ledger definition v1")
        return hashlib.blake2b(text, key=key, digest_size=16).digest()

    def digests(self, words: NDArray[np.uint64], *, purpose: str) -> NDArray[np.uint64]:
        """Return keyed digests of words; those of different purposes never meet."""
        key = self._secret.derive(f"ckm ledger {purpose} v1")[:16]
        return _in_chunks(words, np.frombuffer(key, "<u8"))

    def __repr__(self) -> str:
        return "Seal(…)"

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


def _in_chunks(words: NDArray[np.uint64], key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash in pieces that stay in the processor's cache."""
    answer = np.empty(len(words), np.uint64)
    for start in range(0, len(words), 8192):
        answer[start : start + 8192] = siphash(words[start : start + 8192], key)
    return answer
