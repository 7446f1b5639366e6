"""Reports: from numbers to one self-contained HTML page, in English and French.

Nothing is computed here. `reports.facts.release` and the modules beside it say what a report
needs to know.
"""

from reports.disclosure import Mark, scan
from reports.errors import ReportError
from reports.render import (
    comparison_report,
    decoding_report,
    exposure_report,
    meaning_report,
    mobility_report,
    release_report,
    synthesis_report,
)
from reports.report import Report
from reports.training import (
    audits_report,
    card_report,
    dp_tables_report,
    study_report,
    sweep_report,
)

__all__ = [
    "Mark",
    "Report",
    "ReportError",
    "audits_report",
    "card_report",
    "comparison_report",
    "decoding_report",
    "dp_tables_report",
    "exposure_report",
    "meaning_report",
    "mobility_report",
    "release_report",
    "scan",
    "study_report",
    "sweep_report",
    "synthesis_report",
]
