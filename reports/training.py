"""The pages of private training: its cost, its results, its audits and its card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports.errors import ReportError
from reports.facts.training import AuditFacts, CardFacts, StudyFacts, SweepFacts
from reports.render import rendered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reports.report import Report


def study_report(
    facts: StudyFacts, *, language: str, links: Mapping[str, str] | None = None
) -> Report:
    """Make the page of what a run costs; nothing in it comes from records.

    Parameters
    ----------
    facts
        All that was computed.
    language, links
        As for `release_report`.

    Examples
    --------
    >>> try:
    ...     study_report({}, language="en")
    ... except ReportError as error:
    ...     print(error)
    A study needs StudyFacts, not dict.
    """
    _check(facts, StudyFacts, "A study")
    from reports.pages.training.study import study_page

    return rendered(facts, edition="public", language=language, links=links, page=study_page)


def sweep_report(
    facts: SweepFacts, *, language: str, links: Mapping[str, str] | None = None
) -> Report:
    """Make the page of many training runs; it stays inside.

    Parameters
    ----------
    facts
        All that was measured.
    language, links
        As for `release_report`.

    Examples
    --------
    >>> facts = SweepFacts(
    ...     title="Income",
    ...     version="0.1.0",
    ...     delta=None,
    ...     sampling="",
    ...     adjacency="",
    ...     classes=None,
    ...     outcomes=(),
    ...     tuning=(),
    ... )
    >>> sweep_report(facts, language="en").edition
    'internal'
    """
    _check(facts, SweepFacts, "A sweep")
    from reports.pages.training.sweep import sweep_page

    return rendered(facts, edition="internal", language=language, links=links, page=sweep_page)


def audits_report(
    facts: AuditFacts, *, language: str, links: Mapping[str, str] | None = None
) -> Report:
    """Make the page of attacks on models; it stays inside.

    Parameters
    ----------
    facts
        All that was found.
    language, links
        As for `release_report`.

    Examples
    --------
    >>> facts = AuditFacts(title="Income", version="0.1.0", models=())
    >>> audits_report(facts, language="fr").edition
    'internal'
    """
    _check(facts, AuditFacts, "An audit")
    from reports.pages.training.audits import audits_page

    return rendered(facts, edition="internal", language=language, links=links, page=audits_page)


def card_report(
    facts: CardFacts, *, language: str, links: Mapping[str, str] | None = None
) -> Report:
    """Make the page of a privacy card; it goes with the model.

    Parameters
    ----------
    facts
        The card.
    language, links
        As for `release_report`.

    Examples
    --------
    >>> try:
    ...     card_report("card", language="en")
    ... except ReportError as error:
    ...     print(error)
    A card needs CardFacts, not str.
    """
    _check(facts, CardFacts, "A card")
    from reports.pages.training.card import card_page

    return rendered(facts, edition="public", language=language, links=links, page=card_page)


def _check(facts: Any, kind: type, what: str) -> None:
    if not isinstance(facts, kind):
        raise ReportError(f"{what} needs {kind.__name__}, not {type(facts).__name__}.")
