"""What an attacker gets out of a trained model, against what its guarantee allows."""

from dpsgd.audits.bounds import Ceiling
from dpsgd.audits.evidence import Evidence, read_evidence, write_evidence
from dpsgd.audits.game import membership_game
from dpsgd.audits.inversion import AttributeInversion, attribute_inversion
from dpsgd.audits.membership import (
    lira_scores,
    loss_scores,
    rmia_scores,
    shadow_scores,
    signals_of,
)
from dpsgd.audits.one_run import one_run_audit
from dpsgd.audits.rates import attack_rates
from dpsgd.audits.rebuilding import rebuilt
from dpsgd.audits.reconstruction import invert_gradient, invert_linear
from dpsgd.audits.transcript import audit_transcripts, transcript_scores

__all__ = [
    "AttributeInversion",
    "Ceiling",
    "Evidence",
    "attack_rates",
    "attribute_inversion",
    "audit_transcripts",
    "invert_gradient",
    "invert_linear",
    "lira_scores",
    "loss_scores",
    "membership_game",
    "one_run_audit",
    "read_evidence",
    "rebuilt",
    "rmia_scores",
    "shadow_scores",
    "signals_of",
    "transcript_scores",
    "write_evidence",
]
