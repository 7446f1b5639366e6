"""What all routes share: who asks, within which budget, the workers, what goes wrong."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match

from ckm.service.answering.messages import ClientError, Refusal
from ckm.service.http.middleware import language_of
from ckm.service.http.request_parsing import address_of, language_wanted, token_of
from ckm.service.http.responses import answered, problem_of_mistake, problem_of_refusal
from tables.deadline import Deadline
from tables.errors import StoppedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from ckm.service.access.tokens import Caller
    from ckm.service.answering.figures import Derivation
    from ckm.service.answering.query import Query
    from ckm.service.answering.render import Rendered
    from ckm.service.http.request_parsing import Parameters
    from ckm.service.table_service import TableService


Made = TypeVar("Made")

_SOON_S = 0.05
_QUEUE = 16  # requests that may wait for each one that is worked on
_VERIFIERS = 2  # tokens that are verified at a time
_MAX_TO_VERIFY = 8  # tokens of one address that wait for it


class RequestContext:
    """Lets callers in, and lets threads do what takes time.

    Parameters
    ----------
    table_service
        Where requests are answered.
    """

    def __init__(self, table_service: TableService) -> None:
        self.table_service = table_service
        limit = table_service.service.limits.concurrent_requests
        self._workers = anyio.CapacityLimiter(limit)
        self._max_waiting = limit * _QUEUE
        self._verifiers = anyio.CapacityLimiter(_VERIFIERS)
        self._to_verify: Counter[str] = Counter()

    async def enter(
        self, request: Request, *, cost: int = 1, session: str | None = None
    ) -> tuple[Caller, str]:
        """Return who asks and in which language, within the budget."""
        table_service = self.table_service
        language = language_wanted(request, table_service.service.about.languages)
        token, address = token_of(request), address_of(request)
        caller: Caller | None
        if token is None and session is None:
            caller = table_service.recognise(token=None, address=address)
        else:
            recognise = partial(
                table_service.recognise, token=token, address=address, session=session
            )
            caller = await anyio.to_thread.run_sync(recognise)
        if caller is None:
            caller = await self.verified(token or "", address=address)
        request.state.caller = caller
        await self.charge(request, caller, cost=cost)
        return caller, language

    async def charge(self, request: Request, caller: Caller, *, cost: int) -> None:
        """Take a request from its caller's budget."""
        charge = partial(self.table_service.budget, caller, cost=cost)
        request.state.budget = budget = await anyio.to_thread.run_sync(charge)
        self.table_service.require(budget)
        request.state.is_counted = cost > 0

    async def verified(self, token: str, *, address: str, is_sign_in: bool = False) -> Caller:
        """Return whose a token is; few are verified at a time, and few of one address wait."""
        if self._to_verify[address] >= _MAX_TO_VERIFY or (
            self._to_verify.total() >= _MAX_TO_VERIFY**2
        ):
            raise ClientError("busy")
        self._to_verify[address] += 1
        verify = partial(
            self.table_service.verify, token, address=address, is_sign_in=is_sign_in
        )
        try:
            return await anyio.to_thread.run_sync(verify, limiter=self._verifiers)
        finally:
            self._to_verify[address] -= 1
            self._to_verify += Counter()  # without those that are at 0

    def budget_headers(self, request: Request) -> dict[str, str]:
        """Return what is left of the caller's budget."""
        budget = getattr(request.state, "budget", None)
        return {} if budget is None else budget.headers()

    def require_table(self, name: str) -> None:
        """Raise if there is no such table."""
        if name != self.table_service.service.about.id:
            raise ClientError(
                "no_table", name=name, choices=[self.table_service.service.about.id]
            )

    async def work(self, request: Request, task: Callable[[Deadline], Made]) -> Made:
        """Do what takes time beside the others, as long as there is time and somebody waits.

        A task that must end keeps its place among the workers until it has ended.
        """
        if self._workers.statistics().tasks_waiting > self._max_waiting:
            raise ClientError("busy")
        deadline = Deadline(self.table_service.service.limits.seconds)
        starts: list[bool] = []

        def begin() -> Made:
            deadline.require()
            starts.append(True)
            return task(deadline)

        running = asyncio.ensure_future(anyio.to_thread.run_sync(begin, limiter=self._workers))
        running.add_done_callback(_look_at)
        is_gone = False
        try:
            await asyncio.wait({running}, timeout=_SOON_S)  # most answers take no longer
            if not running.done():
                is_gone = await _wait(running, request, deadline)
            if running.done():
                return running.result()
        except StoppedError:
            pass
        finally:
            deadline.call_off()
        raise ClientError("gone" if is_gone else "too_slow" if starts else "busy")

    # --- what goes wrong ---

    async def mistaken(self, request: Request, error: Exception) -> Response:
        """Answer to a mistake."""
        if isinstance(error, ClientDisconnect):
            error = ClientError("gone")  # nobody hears the answer
        client_error = error if isinstance(error, ClientError) else ClientError("internal")
        language = language_of(request.scope, self.table_service.service.about.languages)
        self.note_mistake(request, client_error)
        headers = self.budget_headers(request)
        return problem_of_mistake(client_error, language, headers=headers)

    def note_mistake(self, request: Request, client_error: ClientError) -> None:
        """Note a mistake where it cost its caller a request, so that notes are bounded."""
        if getattr(request.state, "is_counted", False):
            route = getattr(request.scope.get("route"), "path", "other")
            self.table_service.note_mistake(
                request.state.caller, route=route, key=client_error.key
            )

    async def not_served(self, request: Request, error: Exception) -> Response:
        """Answer where there is no route."""
        status = error.status_code if isinstance(error, HTTPException) else 500
        key = {404: "not_found", 405: "method_not_allowed"}.get(status, "bad_request")
        filled = {"detail": ""} if key == "bad_request" else {}
        language = language_of(request.scope, self.table_service.service.about.languages)
        headers = dict(getattr(error, "headers", None) or {})
        if status == 405:  # the framework names the methods of one route, not of the address
            headers["Allow"] = ", ".join(_methods_at(request))
        return problem_of_mistake(ClientError(key, **filled), language, headers=headers)


@dataclass(frozen=True, slots=True)
class Call:
    """A request to the API that was let in, read as its address declares it."""

    request: Request
    context: RequestContext
    caller: Caller
    language: str
    parameters: Parameters
    body: Any = None

    @property
    def table_service(self) -> TableService:
        """Where requests are answered."""
        return self.context.table_service

    def serve(
        self, asked: Query | Derivation, form: str, deadline: Deadline
    ) -> Rendered | Refusal:
        """Answer what the caller asked with the bytes of a file, or with a refusal."""
        return self.table_service.serve(
            asked,
            format=form,
            language=self.language,
            caller=self.caller,
            deadline=deadline,
        )

    def response(self, result: Rendered | Refusal) -> Response:
        """Return an answer with what is left of the caller's budget."""
        headers = self.context.budget_headers(self.request)
        if isinstance(result, Refusal):
            return problem_of_refusal(result, self.language, headers=headers)
        return answered(self.request, result, more=headers)


async def _wait(running: asyncio.Future[Any], request: Request, deadline: Deadline) -> bool:
    """Wait for work until its deadline; tell whether its caller has gone meanwhile."""
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait(
            {running, gone}, timeout=deadline.left_s(), return_when=asyncio.FIRST_COMPLETED
        )
        return gone.done()
    finally:
        gone.cancel()


def _methods_at(request: Request) -> list[str]:
    """Return the methods that the address of a request knows."""
    methods = {
        method
        for route in request.app.routes
        if route.matches(request.scope)[0] is not Match.NONE
        for method in route.methods or ()
    }
    return sorted(methods)


async def _disconnected(request: Request) -> None:
    """Return when the caller has gone."""
    try:
        while (await request.receive())["type"] != "http.disconnect":
            pass
    except ClientError:  # a body that nobody reads is wrong
        await anyio.sleep_forever()


def _look_at(running: asyncio.Future[Any]) -> None:
    """Take note of an error that nobody waits for any more."""
    if not running.cancelled():
        running.exception()
