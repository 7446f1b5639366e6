"""May a release be published? What its checks found decides, and what somebody allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckm.errors import CheckFailedError
from footing.data_files import read_data
from footing.messages import Message, Name, joined, said

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckm.config.job.job import Job
    from reports.facts.release import CheckFact

_WORDS = read_data("ckm.release", "verdict.toml")
_OURS = Message(
    "this points to a bug of ckm or to a p-table that was changed: please report it"
)


def judge(checks: Sequence[CheckFact], job: Job) -> list[str]:
    """Raise where a check failed that nobody allowed to fail."""
    failed = [check for check in checks if check.outcome == "failed"]
    granted = {entry.check for entry in job.report.exceptions}
    open_ones = [check for check in failed if check.name not in granted]
    scan = [check for check in open_ones if check.name == "public-scan"]
    if scan or (open_ones and job.keys.checks != "warn"):
        raise _error(open_ones)
    return [
        Message(
            "{words} Published because {reason}",
            words=_words(check),
            reason=Message("an exception allows it.")
            if check.name in granted
            else Message('[keys] checks = "warn".'),
        )
        for check in failed
    ]


def _error(failed: Sequence[CheckFact]) -> CheckFailedError:
    several = len(failed) > 1
    text = joined(" ", map(_words, failed))
    way: str = Message(_WORDS["hints"].get(failed[0].name, _OURS))
    if failed[0].name != "public-scan":
        allowed = Message(
            '[[report.exceptions]] with check = "{check}" records who allows it',
            check=Name(failed[0].name),
        )
        way = joined("; ", [way, allowed])
    return CheckFailedError(
        Message(
            "{number} release checks failed. {text} Nothing was published.",
            number=len(failed),
            text=text,
        )
        if several
        else Message("{text} Nothing was published.", text=text),
        hint=way,
    )


def _words(check: CheckFact) -> Message:
    """Say what a check asks and found, as the internal report does."""
    from reports.i18n.languages import words_of
    from reports.pages.release.internal import found_text, rule_text

    english = words_of("en")
    where = Message(" in {where!r}", where=Name(check.where)) if check.where else Message()
    text = "" if check.name in _WORDS["untold"] else f" {found_text(english, check)}"
    rule = rule_text(english, check)
    return Message(
        "The release check '{check}' failed{where}. Its rule: {rule}{found}",
        check=Name(check.name),
        where=where,
        rule=said(rule),
        found=said(text),
    )
