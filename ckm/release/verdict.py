"""May a release be published? What its checks found decides, and what somebody allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckm.errors import CheckFailedError
from footing.data_files import read_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckm.config.job.job import Job
    from reports.facts.release import CheckFact

_WORDS = read_data("ckm.release", "verdict.toml")
_OURS = "this points to a bug of ckm or to a p-table that was changed: please report it"


def judge(checks: Sequence[CheckFact], job: Job) -> list[str]:
    """Raise where a check failed that nobody allowed to fail."""
    failed = [check for check in checks if check.outcome == "failed"]
    granted = {entry.check for entry in job.report.exceptions}
    open_ones = [check for check in failed if check.name not in granted]
    scan = [check for check in open_ones if check.name == "public-scan"]
    if scan or (open_ones and job.keys.checks != "warn"):
        raise _error(open_ones)
    return [
        f"{_words(check)} Published because "
        + ("an exception allows it." if check.name in granted else '[keys] checks = "warn".')
        for check in failed
    ]


def _error(failed: Sequence[CheckFact]) -> CheckFailedError:
    several = len(failed) > 1
    text = " ".join(map(_words, failed))
    way = _WORDS["hints"].get(failed[0].name, _OURS)
    if failed[0].name != "public-scan":
        way += f'; [[report.exceptions]] with check = "{failed[0].name}" records who allows it'
    return CheckFailedError(
        f"{len(failed)} release checks failed. {text} Nothing was published."
        if several
        else f"{text} Nothing was published.",
        hint=way,
    )


def _words(check: CheckFact) -> str:
    """Say what a check asks and found, as the internal report does."""
    from reports.i18n.languages import words_of
    from reports.pages.release.internal import found_text, rule_text

    english = words_of("en")
    where = f" in {check.where!r}" if check.where else ""
    text = "" if check.name in _WORDS["untold"] else f" {found_text(english, check)}"
    rule = rule_text(english, check)
    return f"The release check '{check.name}' failed{where}. Its rule: {rule}{text}"
