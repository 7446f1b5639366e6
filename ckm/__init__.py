"""The cell key method: from microdata to consistently perturbed tables.

```python
import ckm
from ptable import NoiseSpec, solve

engine = ckm.Engine(
    "people.parquet",
    id="person_id",
    secret="secret.key",
    ptable=solve(NoiseSpec(max_noise=5, variance=3.0, small=2)),
)
engine.tabulate(["region", "sex"]).write("region_sex.csv")
```
"""

from ckm.guard import require_own_packages

require_own_packages()

from ckm.engine import Engine  # noqa: E402
from ckm.errors import CkmError, ConfigError, InternalError, ReleaseError  # noqa: E402
from ckm.magnitudes import (  # noqa: E402
    Dominance,
    FewContributors,
    Flex,
    MagnitudeError,
    MagnitudeNoise,
    PPercent,
    PriorPosterior,
    Proportional,
)
from ckm.mix import mix_keys  # noqa: E402
from ckm.perturb import perturb  # noqa: E402
from ckm.published import PublishedTable  # noqa: E402
from ckm.request import TableRequest  # noqa: E402
from tables import Secret  # noqa: E402

__all__ = [
    "CkmError",
    "ConfigError",
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
    "mix_keys",
    "perturb",
]
