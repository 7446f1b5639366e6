"""Reports: from numbers to one self-contained HTML page, in English and French.

Nothing is computed here. `reports.facts.release` and the modules beside it say what a report
needs to know.
"""

from typing import TYPE_CHECKING

from footing.lazy import lazy

if TYPE_CHECKING:
    from reports.disclosure import Mark, scan
    from reports.errors import ReportError
    from reports.render import make_report
    from reports.report import Report

__all__ = [
    "Mark",
    "Report",
    "ReportError",
    "make_report",
    "scan",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Mark": "reports.disclosure",
        "Report": "reports.report",
        "ReportError": "reports.errors",
        "make_report": "reports.render",
        "scan": "reports.disclosure",
    },
)
