"""The desk: answers callers within their budgets, remembers answers, notes what happened.

Knows nothing of HTTP. The API and the page ask here, so both give the same answers.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ckm.service.access import ROLES, Caller, TokenFile, Tokens
from ckm.service.audit import Audit, shape_of
from ckm.service.cache import Cache
from ckm.service.jobs import Jobs
from ckm.service.metrics import Metrics
from ckm.service.mistake import Mistake
from ckm.service.rates import Budget, Rates
from ckm.service.render import Rendered, render
from ckm.service.sessions import Sessions
from ckm.service.words import Phrase

if TYPE_CHECKING:
    from collections.abc import Hashable
    from pathlib import Path

    from ckm.config.service import Service
    from ckm.service.answer import Answer, Answerer
    from ckm.service.jobs import Job
    from ckm.service.query import Query
    from ckm.service.refusal import Refusal
    from ckm.service.rules import RuleSettings
    from ckm.service.variables import Variable
    from tables import Deadline

__all__ = ["Desk"]


_THIN = "thin_difference"

_MOST_ATTEMPTS = 20  # wrong tokens of one address in an hour, where people sign in


class Desk:
    """Where callers are answered.

    Parameters
    ----------
    service, answerer
        The service, and who answers its queries.
    folder
        Where large tables are kept.
    """

    def __init__(self, service: Service, answerer: Answerer, *, folder: Path) -> None:
        self.service = service
        self.answerer = answerer
        self.metrics = Metrics()
        limits = service.limits
        self.jobs = Jobs(
            folder,
            most=limits.jobs,
            seconds=limits.job_seconds,
            most_bytes=limits.job_bytes,
            most_s=3600 * limits.job_hours,
        )
        self.rendered: Cache[Rendered] = Cache(
            limits.cache_bytes // 2, size=lambda r: len(r.body) + 1000
        )
        self._rates = Rates(service.access.budgets or folder / "budgets.db")
        self._audit = Audit(service.access.audit)
        path = service.access.tokens
        self._tokens = None if path is None else Tokens(TokenFile(path))
        self._sessions = Sessions(folder / "sessions")

    @property
    def variables(self) -> dict[str, Variable]:
        """What may be asked for."""
        return self.answerer.variables

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that there are."""
        return ("count", "weighted") if self.answerer.is_weighted else ("count",)

    @property
    def has_tokens(self) -> bool:
        """Whether people can have tokens here."""
        return self._tokens is not None

    def sign_in(self, token: str, *, address: str) -> str:
        """Begin a session for who has a token, and return its name.

        Parameters
        ----------
        token
            The token.
        address
            Whence it comes.

        Raises
        ------
        Mistake
            If the token is wrong, or too many were.
        """
        attempts = partial(self._rates.take, f"sign-in {address}", limit=_MOST_ATTEMPTS)
        left = attempts(cost=0)
        if not left.remaining:
            raise Mistake("too_many_attempts", wait=left.reset_s)
        caller = None if self._tokens is None else self._tokens.caller(token.strip())
        if caller is None:
            attempts()
            self._audit.note(who=f"address {address}", outcome="wrong token")
            raise Mistake("wrong_token")
        name = self._sessions.open(caller.id)
        self._audit.note(who=caller.id, role=caller.role, outcome="signed in")
        return name

    def sign_out(self, session: str) -> None:
        """End a session.

        Parameters
        ----------
        session
            Its name.
        """
        who = self._sessions.token_id(session)
        self._sessions.close(session)
        if who is not None:
            self._audit.note(who=who, outcome="signed out")

    def identify(
        self, *, token: str | None, address: str, session: str | None = None
    ) -> Caller:
        """Return who asks.

        Parameters
        ----------
        token
            The token given, if one.
        address
            The caller's address.
        session
            The name of a session, where one counts: at the page.

        Raises
        ------
        Mistake
            If the token is wrong, or one is needed.
        """
        if token is not None and self._tokens is not None:
            caller = self._tokens.caller(token)
            if caller is None:  # guessing has the budget of a stranger
                self.require(self.budget(Caller(id=f"wrong token {address}")))
                raise Mistake("no_token")
            return caller
        public = None if session is None else self._sessions.token_id(session)
        if public is not None and self._tokens is not None:
            caller = self._tokens.holder(public)
            if caller is not None:
                return caller
        if self.service.access.mode == "tokens":
            raise Mistake("no_token")
        return Caller(id=f"address {address}")

    def budget(self, caller: Caller, *, cost: int = 1) -> Budget:
        """Take a request from a caller's budget.

        Parameters
        ----------
        caller
            Who asks.
        cost
            How many requests this one counts for; 0 only looks.
        """
        limits = self.service.limits
        limit = caller.requests_per_hour or limits.per_hour(caller.role)
        return self._rates.take(
            caller.id, limit=limit, per_day=limits.requests_per_day, cost=cost
        )

    def require(self, budget: Budget) -> None:
        """Raise if a request is not within its budget.

        Parameters
        ----------
        budget
            What `budget` returned.

        Raises
        ------
        Mistake
            With the requests of the window that is used up, and how long to wait.
        """
        if not budget.is_allowed:
            raise Mistake("too_many_requests", limit=budget.limit, wait=budget.reset_s)

    def may_filter(self, caller: Caller) -> bool:
        """Return whether a caller may say who is counted.

        Parameters
        ----------
        caller
            Who asks.
        """
        return ROLES.index(caller.role) >= ROLES.index(self.service.access.filters)

    def require_filters(self, query: Query, caller: Caller) -> None:
        """Refuse a filter of a caller who may not filter.

        Parameters
        ----------
        query
            What is asked for.
        caller
            Who asks.

        Raises
        ------
        Mistake
            If the query counts some persons alone, and the caller may not ask so.
        """
        if (query.where is not None or query.within) and not self.may_filter(caller):
            raise Mistake("no_filters", role=Phrase(key=f"role_{self.service.access.filters}"))

    def rules(self, caller: Caller, *, is_job: bool = False) -> RuleSettings:
        """Return the rules for a caller.

        Parameters
        ----------
        caller
            Who asks.
        is_job
            Whether the answer may be large.
        """
        settings = self.answerer.settings
        limits = self.service.limits
        most = settings.maximum_cells
        if most is not None and caller.role != "public" and limits.cells_researcher:
            most = max(most, limits.cells_researcher)
        if most is not None and is_job:
            most = max(most, limits.large_cells)
        return replace(settings, maximum_cells=most)

    def serve(
        self,
        query: Query,
        *,
        format: str,  # noqa: A002  (the word of requests)
        language: str,
        caller: Caller,
        is_job: bool = False,
        deadline: Deadline | None = None,
    ) -> Rendered | Refusal:
        """Answer a query with the bytes of a file, or with a refusal.

        Parameters
        ----------
        query
            What is asked for.
        format, language
            How it is written.
        caller
            Who asks.
        is_job
            Whether the answer may be large.
        deadline
            When the work must end.
        """
        self.require_filters(query, caller)
        rules = self.rules(caller, is_job=is_job)
        key: Hashable = (query, format, language, rules)
        made: Rendered | Refusal | None = self.rendered.get(key)
        outcome = "repeated"
        if made is None:
            answer = self.answerer.answer(query, settings=rules, deadline=deadline)
            if answer.refusal is not None:
                made, outcome = answer.refusal, _outcome_of(answer)
            else:
                made = render(
                    answer,
                    service=self.service,
                    variables=self.variables,
                    format=format,
                    language=language,
                )
                outcome = _outcome_of(answer)
                self.rendered.put(key, made)
        self._note(query, caller, form=format, outcome=outcome)
        return made

    def show(self, query: Query, *, caller: Caller, deadline: Deadline | None = None) -> Answer:
        """Answer a query with a table for the eye, or with a refusal in it.

        Parameters
        ----------
        query
            What is asked for.
        caller
            Who asks.
        deadline
            When the work must end.
        """
        self.require_filters(query, caller)
        answer = self.answerer.answer(query, settings=self.rules(caller), deadline=deadline)
        self._note(query, caller, form="page", outcome=_outcome_of(answer))
        return answer

    def _note(self, query: Query, caller: Caller, *, form: str, outcome: str) -> None:
        if outcome == _THIN:  # an answer about a few persons: none may have many of them
            self._rates.charge(caller.id, cost=self.service.limits.thin_difference_cost)
        self.metrics.count("ckm_tables_total", outcome=outcome)
        self._audit.note(
            who=caller.id, role=caller.role, format=form, outcome=outcome, **shape_of(query)
        )

    def submit(
        self,
        query: Query,
        *,
        format: str,  # noqa: A002
        language: str,
        caller: Caller,
    ) -> Job:
        """Ask for a large table.

        Parameters
        ----------
        query, format, language, caller
            As for `serve`.
        """
        self.require_filters(query, caller)
        return self.jobs.submit(
            lambda deadline: self.serve(
                query,
                format=format,
                language=language,
                caller=caller,
                is_job=True,
                deadline=deadline,
            ),
            owner=caller.id,
        )

    def note_mistake(self, caller: Caller | None, *, route: str, key: str) -> None:
        """Note a request that was wrong.

        Parameters
        ----------
        caller, route, key
            Who asked where, and what was wrong.
        """
        who = None if caller is None else caller.id
        self._audit.note(who=who, route=route, outcome=f"mistake: {key}")

    def figures(self) -> str:
        """Return the service's figures for Prometheus."""
        cubes = self.answerer.cubes
        gauges = {
            "ckm_cache_bytes_cells": float(cubes.cache.used),
            "ckm_cache_bytes_answers": float(self.rendered.used),
        }
        for route in ("repeated", "rolled", "scanned"):
            gauges[f"ckm_cells_{route}"] = float(cubes.routes[route])
        return self.metrics.text(gauges)

    def close(self) -> None:
        """End the job under way, drop those that wait, and close the files."""
        self.jobs.close(seconds=0)  # nobody can fetch what it would still make
        self._rates.close()
        self._audit.close()

    def __repr__(self) -> str:
        return f"Desk({self.service.id!r})"


def _outcome_of(answer: Answer) -> str:
    """Return what came of a query, for the audit log and the figures."""
    if answer.refusal is not None:
        return answer.refusal.reason
    return "published" if answer.flag is None else "flagged"
