"""The pages of private training: its cost, its results, its audits and its card."""

from reports.facts.dp_tables import DPTablesFacts
from reports.facts.training import AuditFacts, CardFacts, StudyFacts, SweepFacts
from reports.pages.dp_tables import dp_tables_page
from reports.pages.training.audits import audits_page
from reports.pages.training.card import card_page
from reports.pages.training.study import study_page
from reports.pages.training.sweep import sweep_page
from reports.render import rendered, require_kind
from reports.report import Links, Report


def study_report(facts: StudyFacts, *, language: str, links: Links = None) -> Report:
    """Make the page of what a run costs; nothing in it comes from records.

    Parameters
    ----------
    facts
        All that was computed.
    language, links
        As for `release_report`.

    Examples
    --------
    >>> from reports import ReportError
    >>> try:
    ...     study_report({}, language="en")
    ... except ReportError as error:
    ...     print(error)
    A study needs StudyFacts, not dict.
    """
    require_kind(facts, StudyFacts, "A study")
    return rendered(study_page, facts, edition="public", language=language, links=links)


def sweep_report(facts: SweepFacts, *, language: str, links: Links = None) -> Report:
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
    require_kind(facts, SweepFacts, "A sweep")
    return rendered(sweep_page, facts, language=language, links=links)


def audits_report(facts: AuditFacts, *, language: str, links: Links = None) -> Report:
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
    require_kind(facts, AuditFacts, "An audit")
    return rendered(audits_page, facts, language=language, links=links)


def card_report(facts: CardFacts, *, language: str, links: Links = None) -> Report:
    """Make the page of a privacy card; it goes with the model.

    Parameters
    ----------
    facts
        The card.
    language, links
        As for `release_report`.

    Examples
    --------
    >>> from reports import ReportError
    >>> try:
    ...     card_report("card", language="en")
    ... except ReportError as error:
    ...     print(error)
    A card needs CardFacts, not str.
    """
    require_kind(facts, CardFacts, "A card")
    return rendered(card_page, facts, edition="public", language=language, links=links)


def dp_tables_report(facts: DPTablesFacts, *, language: str, links: Links = None) -> Report:
    """Make the page of differentially private tables, for office and readers.

    Parameters
    ----------
    facts
        What was published, and what it cost.
    language, links
        As for `release_report`.

    Examples
    --------
    >>> from reports import ReportError
    >>> try:
    ...     dp_tables_report({}, language="en")
    ... except ReportError as error:
    ...     print(error)
    A page of tables needs DPTablesFacts, not dict.
    """
    require_kind(facts, DPTablesFacts, "A page of tables")
    return rendered(dp_tables_page, facts, edition="public", language=language, links=links)
