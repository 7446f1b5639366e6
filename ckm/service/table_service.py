"""Answers callers within their budgets, remembers answers, notes what happened.

Knows nothing of HTTP. The API and the page ask here, so both give the same answers.
"""

import logging
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ckm.config.service.rules import RuleSettings
from ckm.config.service.service import Service
from ckm.errors import FormatError
from ckm.ledger.storage.store import open_store
from ckm.release.job_inputs import load_secret
from ckm.service.access.audit_log import AuditLog, shape_of
from ckm.service.access.projects import Projects
from ckm.service.access.rate_limits import Budget, Rates
from ckm.service.access.sessions import Sessions
from ckm.service.access.tokens import ROLES, Caller, TokenFile, Tokens
from ckm.service.answering.answer import Answer, Answerer
from ckm.service.answering.cells.lru_cache import Cache
from ckm.service.answering.figures import Derivation
from ckm.service.answering.filtered_sets import FilteredSets
from ckm.service.answering.messages import (
    ClientError,
    Phrase,
    Refusal,
    bad_request,
    explained,
)
from ckm.service.answering.query import Query
from ckm.service.answering.render import Rendered, render
from ckm.service.answering.variables import Variable
from ckm.service.jobs import Job, Jobs
from ckm.service.metrics import Metrics
from ckm.service.rules.shape import Finding
from footing.messages import Message
from tables.deadline import Deadline

logger = logging.getLogger(__name__)

_THIN = "thin_difference"
_SPENT = Finding(
    rule="project_spent",
    tries=("project_spent_try", "project_coarser_try", "project_officer_try"),
)
_ALONE = Finding(rule="filter_alone", tries=_SPENT.tries)

# Wrong tokens in an hour: of one address where people sign in, of one token from anywhere.
_MAX_ATTEMPTS = 20
_WAIT_S = 2.0  # how long sessions and counts wait for the ledger's database


class TableService:
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
            max_bytes=limits.job_bytes,
            max_s=3600 * limits.job_hours,
        )
        self.rendered: Cache[Rendered] = Cache(
            limits.cache_bytes // 2, size=lambda r: len(r.body) + 1000
        )
        self._open_shared(folder)
        self._audit = AuditLog(service.access.audit)
        self._filtered_sets = FilteredSets(
            answerer.planner, answerer.variables, service=service
        )
        path = service.access.tokens
        self._tokens = None if path is None else Tokens(TokenFile(path))
        self._watch()

    def _open_shared(self, folder: Path) -> None:
        """Open what all servers share: in the ledger's database, or in files."""
        service, access = self.service, self.service.access
        secret = load_secret(service.job)
        key = (
            b"" if secret is None else secret.derive(f"ckm service callers {service.about.id}")
        )
        shared = durable = None
        if service.ledger is not None:
            connect = partial(open_store, service.ledger.target, create=False)
            shared = connect(timeout_s=_WAIT_S, is_quick=True)
            durable = connect() if service.has_accounts_in_ledger else None
        self._rates = Rates(access.budgets or shared or folder / "budgets.db", key=key)
        self._sessions = Sessions(shared or folder / "sessions.db", key=key)
        self._projects: Projects | None = None
        if access.projects is not None:
            self._projects = Projects(access.projects)
        elif durable is not None:
            self._projects = Projects(durable, service=service.about.id)

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

    def sign_in(self, caller: Caller) -> str:
        """Begin a session for who has a token, and return its name."""
        name = self._sessions.open(caller.id)
        self._audit.note(who=caller.id, role=caller.role, outcome="signed in")
        return name

    def sign_out(self, session: str) -> None:
        """End a session."""
        who = self._sessions.token_id(session)
        self._sessions.close(session)
        if who is not None:
            self._audit.note(who=who, outcome="signed out")

    def recognise(
        self, *, token: str | None, address: str, session: str | None = None
    ) -> Caller | None:
        """Return who asks; None where the secret of a token is still to be verified."""
        if token is not None and self._tokens is not None:
            identity = self._tokens.recognise(token)
            return identity if isinstance(identity, Caller) else None
        public = None if session is None else self._sessions.token_id(session)
        if public is not None and self._tokens is not None:
            caller = self._tokens.holder(public)
            if caller is not None:
                return caller
        if self.service.access.mode == "tokens":
            raise ClientError("no_token")
        return Caller(id=f"address {address}")

    def verify(self, token: str, *, address: str, is_sign_in: bool = False) -> Caller:
        """Return whose a token is, as far as neither it nor its sender was wrong too often."""
        identity = None if self._tokens is None else self._tokens.recognise(token)
        if isinstance(identity, Caller):
            return identity
        attempts = [self._attempts(address, is_sign_in=is_sign_in)]
        if identity is not None:
            attempts.append((f"wrong secret {identity}", _MAX_ATTEMPTS))
        budgets = [self._rates.take(who, limit=limit, cost=0) for who, limit in attempts]
        # Who was never wrong is let through, so that nobody can lock a token's owner out.
        if not budgets[0].remaining or (
            not budgets[-1].remaining and budgets[0].remaining < budgets[0].limit
        ):
            if is_sign_in:
                raise ClientError("too_many_attempts", wait=budgets[-1].reset_s)
            last = next(budget for budget in budgets if not budget.remaining)
            raise ClientError("too_many_requests", limit=last.limit, wait=last.reset_s)
        caller = (
            None if identity is None or self._tokens is None else self._tokens.caller(token)
        )
        if caller is not None:
            return caller
        for who, limit in attempts:
            self._rates.take(who, limit=limit)
        self._audit.note(who=f"address {address}", outcome="wrong token")
        raise ClientError("wrong_token" if is_sign_in else "no_token")

    def _attempts(self, address: str, *, is_sign_in: bool) -> tuple[str, int]:
        """Return what wrong tokens of an address are counted under, and how many it has."""
        if is_sign_in:
            return f"sign-in {address}", _MAX_ATTEMPTS
        # Guessing has the budget of a stranger.
        return f"wrong token {address}", self.service.limits.per_hour("public")

    def per_hour(self, caller: Caller) -> int:
        """Return how many requests of an hour a caller has."""
        return caller.requests_per_hour or self.service.limits.per_hour(caller.role)

    def budget(self, caller: Caller, *, cost: int = 1) -> Budget:
        """Take a request from a caller's budget."""
        limits = self.service.limits
        limit = self.per_hour(caller)
        return self._rates.take(
            caller.id, limit=limit, per_day=limits.requests_per_day, cost=cost
        )

    def require(self, budget: Budget) -> None:
        """Raise if a request is not within its budget."""
        if not budget.is_allowed:
            raise ClientError("too_many_requests", limit=budget.limit, wait=budget.reset_s)

    def may_filter(self, caller: Caller) -> bool:
        """Return whether a caller may say who is counted."""
        return ROLES.index(caller.role) >= ROLES.index(self.service.access.filters)

    def require_filters(self, query: Query, caller: Caller) -> None:
        """Refuse a filter of a caller who may not filter."""
        if (query.where is not None or query.within) and not self.may_filter(caller):
            raise ClientError(
                "no_filters", role=Phrase(key=f"role_{self.service.access.filters}")
            )

    def require_margin(self, asked: Query | Derivation, caller: Caller) -> None:
        """Refuse exact intervals to all but officers, before anything is looked at."""
        if not isinstance(asked, Derivation) or asked.level is None:
            return
        if caller.role != "officer":
            raise ClientError("no_exact_margins")
        if not self.answerer.deriver.has_exact_margins:
            raise bad_request("exact_keys")

    def rules(self, caller: Caller, *, is_job: bool = False) -> RuleSettings:
        """Return the rules for a caller."""
        settings = self.answerer.settings
        limits = self.service.limits
        most = settings.maximum_cells
        if most is not None and caller.role != "public" and limits.cells_researcher:
            most = max(most, limits.cells_researcher)
        if most is not None and is_job:
            most = max(most, limits.large_cells)
        return settings.changed(maximum_cells=most)

    def serve(
        self,
        asked: Query | Derivation,
        deadline: Deadline | None = None,
        *,
        format: str,  # noqa: A002  (the word of requests)
        language: str,
        caller: Caller,
        is_job: bool = False,
    ) -> Rendered | Refusal:
        """Answer a query with the bytes of a file, or with a refusal."""
        self.require_margin(asked, caller)
        query = self._query_of(asked)
        self.require_filters(query, caller)
        rules = self.rules(caller, is_job=is_job)
        key = asked.digest, format, language, rules
        result: Rendered | Refusal | None = self.rendered.get(key)
        outcome = "repeated"
        account = partial(self._spent, caller=caller)
        finding = None if result is None else account(query)
        if finding is not None:
            result, outcome = explained(finding, self.variables), finding.rule
        elif result is None:
            answer = self._answered(
                asked,
                settings=rules,
                deadline=deadline,
                account=account,
                before_review=partial(self._require_review, caller=caller),
            )
            if answer.refusal is not None:
                result, outcome = answer.refusal, _outcome_of(answer)
            else:
                try:
                    result = render(
                        answer,
                        service=self.service,
                        variables=self.variables,
                        format=format,
                        language=language,
                    )
                except FormatError:
                    raise ClientError("unfit_format", name=format) from None
                outcome = _outcome_of(answer)
                self.rendered.put(key, result)
        self._note(query, caller, form=format, outcome=outcome)
        return result

    def _query_of(self, asked: Query | Derivation) -> Query:
        """Return all that is looked at for an answer, which is what a caller is charged for."""
        if isinstance(asked, Derivation):
            return self.answerer.deriver.widened(asked)
        return asked

    def _answered(self, asked: Query | Derivation, **options: Any) -> Answer:
        if isinstance(asked, Derivation):
            return self.answerer.derive(asked, **options)
        return self.answerer.answer(asked, **options)

    def show(
        self,
        asked: Query | Derivation,
        *,
        caller: Caller,
        deadline: Deadline | None = None,
    ) -> Answer:
        """Answer a query with a table for the eye, or with a refusal in it."""
        self.require_margin(asked, caller)
        query = self._query_of(asked)
        self.require_filters(query, caller)
        answer = self._answered(
            asked,
            settings=self.rules(caller),
            deadline=deadline,
            account=partial(self._spent, caller=caller),
            before_review=partial(self._require_review, caller=caller),
        )
        self._note(query, caller, form="page", outcome=_outcome_of(answer))
        return answer

    def _spent(self, query: Query, *, caller: Caller) -> Finding | None:
        """Account a filtered query to its caller's project; tell whether that has no room.

        A table that no project could have is refused as such: the account has no part in it.
        """
        if self._projects is None or caller.role == "officer":
            return None
        sets = self._filtered_sets.of(query)
        judge = self._filtered_sets.admissible
        if not sets or self._projects.take(caller.account, sets, judge=judge):
            return None
        if judge([], sets) is None:
            return _ALONE
        logger.warning(Message("project spent"), extra={"account": caller.account})
        return _SPENT

    def _require_review(self, query: Query, *, caller: Caller) -> None:
        """Refuse to look at a new table where a caller's refusals by the ledger are spent.

        Whether it is refused would tell of a few persons. What was told before tells nothing.
        """
        limits = self._refusals_of(caller)
        if limits is None or self._is_repeated_refusal(query, caller, cost=0):
            return
        budget = self._rates.take(f"refusals {caller.id}", **limits, cost=0)
        if not budget.remaining:
            raise ClientError("too_many_refusals", limit=budget.limit, wait=budget.reset_s)

    def _charge_refusal(self, query: Query, caller: Caller) -> None:
        """Count an answer about a few persons, of which none may have many, and each once."""
        limits = self._refusals_of(caller)
        if limits is not None and not self._is_repeated_refusal(query, caller, cost=1):
            self._rates.take(f"refusals {caller.id}", **limits)

    def _refusals_of(self, caller: Caller) -> dict[str, int] | None:
        """Return how many refusals by the ledger a caller may have; None for any number."""
        limits, cost = self.service.limits, self.service.limits.thin_difference_cost
        if not cost:
            return None
        per_hour = self.per_hour(caller)
        refusals = {"limit": max(1, per_hour // cost)}
        if limits.requests_per_day is not None:
            refusals["per_day"] = max(1, limits.requests_per_day // cost)
        return refusals

    def _is_repeated_refusal(self, query: Query, caller: Caller, *, cost: int) -> bool:
        """Tell whether a caller was refused these cells today; remember it at a cost of 1."""
        digest = replace(query, measures=()).digest.hex()
        name = f"refusal {caller.id} {digest}"
        budget = self._rates.take(name, limit=1, per_day=1, cost=cost)
        return not (budget.is_allowed if cost else budget.remaining)

    def _note(self, query: Query, caller: Caller, *, form: str, outcome: str) -> None:
        if outcome == _THIN:
            self._charge_refusal(query, caller)
        self._audit.note(
            who=caller.id, role=caller.role, format=form, outcome=outcome, **shape_of(query)
        )
        self.metrics.count("ckm_tables_total", outcome=outcome)

    def submit(
        self,
        asked: Query | Derivation,
        *,
        format: str,  # noqa: A002
        language: str,
        caller: Caller,
    ) -> Job:
        """Ask for a large table."""
        self.require_margin(asked, caller)
        query = self._query_of(asked)
        self.require_filters(query, caller)
        work = partial(
            self.serve, asked, format=format, language=language, caller=caller, is_job=True
        )
        return self.jobs.submit(work, owner=caller.id)

    def note_mistake(self, caller: Caller, *, route: str, key: str) -> None:
        """Note a request that was wrong."""
        self._audit.note(who=caller.id, route=route, outcome=f"mistake: {key}")

    def _watch(self) -> None:
        """Show in the figures what memory holds, and how cells were found."""
        cubes, watch = self.answerer.cubes, self.metrics.watch
        for name, cache in (("cells", cubes.cache), ("answers", self.rendered)):
            text = f"Memory that {name} take."
            watch(f"ckm_cache_bytes_{name}", text, partial(getattr, cache, "used"))
        for route in ("repeated", "rolled", "scanned"):
            watch(
                f"ckm_cells_{route}",
                f"How often cells were {route}.",
                partial(cubes.routes.__getitem__, route),
                is_total=True,
            )

    def close(self) -> None:
        """End the job under way, drop those that wait, and close the files."""
        self.jobs.close(seconds=0)  # nobody can fetch what it would still make
        self._rates.close()
        self._sessions.close_all()
        if self._projects is not None:
            self._projects.close()
        self._audit.close()


def _outcome_of(answer: Answer) -> str:
    """Return what came of a query, for the audit log and the figures."""
    if answer.refusal is not None:
        return answer.refusal.reason
    return "published" if answer.flag is None else "flagged"
