"""Parameters of published deployments and experiments, to be looked at and compared."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from footing.messages import Message
from rappor.parameters import Parameters

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """Parameters that somebody used.

    Parameters
    ----------
    parameters
        Shape and noise. The hash is ours, where theirs is not `md5`.
    source
        Whose they are.
    """

    parameters: Parameters
    source: Message


def _bloom(
    shape: tuple[int, int, int], noise: tuple[float, float, float], **more: Any
) -> Parameters:
    k, h, m = shape
    f, p, q = noise
    return Parameters(n_bits=k, n_hashes=h, n_cohorts=m, f=f, p=p, q=q, **more)


#: Name → preset.
PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "paper": Preset(
            parameters=_bloom((128, 2, 16), (0.5, 0.5, 0.75)),
            source=Message("the exponential experiment of the paper of 2014, section 5.2"),
        ),
        "windows": Preset(
            parameters=_bloom((128, 2, 8), (0.5, 0.5, 0.75)),
            source=Message("names of Windows processes, section 5.3 of the paper"),
        ),
        "homepages": Preset(
            parameters=_bloom((128, 2, 32), (0.75, 0.5, 0.75)),
            source=Message("home pages of Chrome, section 5.4 of the paper"),
        ),
        "chrome-normal": Preset(
            parameters=_bloom((128, 2, 128), (0.5, 0.25, 0.75)),
            source=Message("Chrome's usual noise, 128 bits"),
        ),
        "chrome-sparse": Preset(
            parameters=_bloom((128, 2, 128), (0.25, 0.25, 0.75)),
            source=Message("Chrome's noise for rare values, 128 bits"),
        ),
        "google-demo": Preset(
            parameters=_bloom((32, 1, 64), (0.5, 0.25, 0.75), hash="md5"),
            source=Message("the demonstration of google/rappor"),
        ),
        "google-client": Preset(
            parameters=_bloom((16, 2, 64), (0.5, 0.5, 0.75), hash="md5"),
            source=Message("what google/rappor's client in Python takes where nothing is said"),
        ),
        "cobalt": Preset(
            parameters=_bloom((32, 2, 64), (0.0, 0.24, 0.75)),
            source=Message("the prototype of Fuchsia Cobalt, of values sent once"),
        ),
        "mozilla": Preset(
            parameters=_bloom((128, 2, 100), (0.0, 0.65, 0.35)),
            source=Message("a study of Mozilla of 2017, of values sent once"),
        ),
    }
)
