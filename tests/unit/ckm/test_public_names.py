"""The names that `import ckm` gives stay; one that goes is deprecated for a version first."""

import ckm

NAMES = [
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
    "shares",
]


def test_every_public_name_is_still_there():
    assert set(NAMES) <= set(ckm.__all__)
    assert all(getattr(ckm, name) is not None for name in NAMES)


def test_an_engine_keeps_what_users_call():
    kept = "tabulate tabulate_all stream cells prepare protect validate check_keys close"
    assert all(callable(getattr(ckm.Engine, name)) for name in kept.split())
