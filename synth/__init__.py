"""Synthetic microdata, differentially private, from vine copulas and noisy tables."""

from footing.lazy import renamed
from synth.certificate import Certificate
from synth.claims import Claim
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
from synth.guarantee import Guarantee, guarantee_beside
from synth.marginals.engine import fit_codes
from synth.marginals.measuring import Neighbours, SecureNoise, SimulatedNoise
from synth.marginals.model import TableModel
from synth.marginals.spending import Budget, Call, TableSettings
from synth.mechanisms import Mechanism
from synth.picture import draw_structure, structure
from synth.schema.columns import Category, Date, Real, Whole
from synth.schema.discovery import Discovery, discover
from synth.schema.lint import lint
from synth.schema.migration import schema_from
from synth.schema.public import Prior, Published, Rule
from synth.schema.rules.rules import EditRule, code_hierarchy
from synth.schema.schema import Schema, Unit
from synth.synthesizer import Synthesizer

__all__ = [
    "Budget",
    "Call",
    "Category",
    "Certificate",
    "CertificateError",
    "Claim",
    "Date",
    "Discovery",
    "DomainError",
    "EditRule",
    "Guarantee",
    "Mechanism",
    "Model",
    "Neighbours",
    "OverspentError",
    "Prior",
    "Published",
    "Real",
    "Rule",
    "RuleError",
    "Schema",
    "SchemaError",
    "SecureNoise",
    "SimulatedNoise",
    "SynthError",
    "Synthesizer",
    "TableModel",
    "TableSettings",
    "UndeclaredError",
    "Unit",
    "UnitError",
    "Whole",
    "code_hierarchy",
    "discover",
    "draw_structure",
    "fit_codes",
    "guarantee_beside",
    "lint",
    "schema_from",
    "structure",
]

__getattr__ = renamed(__name__, {"Settings": "TableSettings"})
