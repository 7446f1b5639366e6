"""Synthetic microdata, differentially private, from vine copulas and noisy tables."""

from footing.lazy import moved as _moved
from synth.certificate import Certificate
from synth.errors import (
    CertificateError,
    DomainError,
    OverspentError,
    RuleError,
    SchemaError,
    SynthError,
    UndeclaredError,
    UnitError,
)
from synth.fitted import Model
from synth.guarantee import Guarantee
from synth.marginals.engine import fit_codes
from synth.marginals.measuring import SimulatedNoise
from synth.marginals.spending import Budget, TableSettings
from synth.mechanisms import Mechanism
from synth.schema.columns import Category, Date, Real, Whole
from synth.schema.discovery import discover
from synth.schema.lint import lint
from synth.schema.migration import schema_from
from synth.schema.rules.rules import EditRule, code_hierarchy
from synth.schema.schema import Amount, Schema, Unit
from synth.synthesizer import Synthesizer

__all__ = [
    "Amount",
    "Budget",
    "Category",
    "Certificate",
    "CertificateError",
    "Date",
    "DomainError",
    "EditRule",
    "Guarantee",
    "Mechanism",
    "Model",
    "OverspentError",
    "Real",
    "RuleError",
    "Schema",
    "SchemaError",
    "SimulatedNoise",
    "SynthError",
    "Synthesizer",
    "TableSettings",
    "UndeclaredError",
    "Unit",
    "UnitError",
    "Whole",
    "code_hierarchy",
    "discover",
    "fit_codes",
    "lint",
    "schema_from",
]

#: Names of 0.1 that are asked of their modules, by whoever needs them.
__getattr__ = _moved(
    __name__,
    {
        "Call": "synth.marginals.spending",
        "Claim": "synth.claims",
        "Discovery": "synth.schema.discovery",
        "Neighbours": "synth.marginals.measuring",
        "Prior": "synth.schema.public",
        "Published": "synth.schema.public",
        "Rule": "synth.schema.public",
        "SecureNoise": "synth.marginals.measuring",
        "TableModel": "synth.marginals.model",
        "draw_structure": "synth.picture",
        "guarantee_beside": "synth.guarantee",
        "Settings": f"{__name__}:TableSettings",
        "structure": "synth.picture",
    },
)
