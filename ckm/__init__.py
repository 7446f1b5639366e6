"""The cell key method: from microdata to consistently perturbed tables.

::

    import ckm
    from ptable import NoiseSpec, solve

    engine = ckm.Engine(
        "people.parquet",
        id="person_id",
        secret="secret.key",
        ptable=solve(NoiseSpec(max_noise=5, variance=3.0, small=2)),
    )
    engine.tabulate(["region", "sex"]).write("region_sex.csv")
"""

from typing import TYPE_CHECKING, Any

from ckm._packages import require_own_packages

require_own_packages()

from footing.lazy import lazy  # noqa: E402

if TYPE_CHECKING:
    from ckm.engine.derived import changes, shares
    from ckm.engine.engine import Engine
    from ckm.engine.key_mixing import mix_keys
    from ckm.engine.magnitudes import (
        Dominance,
        FewContributors,
        Flex,
        MagnitudeError,
        MagnitudeNoise,
        PPercent,
        PriorPosterior,
        Proportional,
    )
    from ckm.engine.perturbation import perturb
    from ckm.engine.published_table import PublishedTable
    from ckm.engine.request import TableRequest
    from ckm.errors import CkmError, ConfigError, InternalError, ReleaseError
    from ckm.release.first_table import protect
    from tables import DerivedVariable, Secret

__all__ = [
    "CkmError",
    "ConfigError",
    "DerivedVariable",
    "Dominance",
    "Engine",
    "FewContributors",
    "Flex",
    "InternalError",
    "MagnitudeError",
    "MagnitudeNoise",
    "PPercent",
    "PriorPosterior",
    "Proportional",
    "PublishedTable",
    "ReleaseError",
    "Secret",
    "TableRequest",
    "changes",
    "mix_keys",
    "perturb",
    "protect",
    "shares",
]

_ERRORS = ("CkmError", "ConfigError", "InternalError", "ReleaseError")
_MAGNITUDES = (
    "Dominance",
    "FewContributors",
    "Flex",
    "MagnitudeError",
    "MagnitudeNoise",
    "PPercent",
    "PriorPosterior",
    "Proportional",
)

_public, __dir__ = lazy(
    __name__,
    {
        "DerivedVariable": "tables.recoding.variable",
        "Engine": "ckm.engine.engine",
        "PublishedTable": "ckm.engine.published_table",
        "Secret": "tables.secret",
        "TableRequest": "ckm.engine.request",
        "changes": "ckm.engine.derived",
        "shares": "ckm.engine.derived",
        "mix_keys": "ckm.engine.key_mixing",
        "perturb": "ckm.engine.perturbation",
        "protect": "ckm.release.first_table",
    }
    | dict.fromkeys(_ERRORS, "ckm.errors")
    | dict.fromkeys(_MAGNITUDES, "ckm.engine.magnitudes"),
)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from footing.version import engine_version

        return engine_version()
    return _public(name)
