"""The page over HTTP: its address, the files beside it, and what goes wrong."""

import gzip
from dataclasses import replace
from functools import partial
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ckm.service.access.tokens import Caller
from ckm.service.answering.answer import Answer
from ckm.service.answering.messages import ClientError, Refusal, bad_request
from ckm.service.answering.query import Query
from ckm.service.answering.render import Rendered
from ckm.service.http.middleware import language_of
from ckm.service.http.request_context import RequestContext
from ckm.service.http.request_parsing import format_of
from ckm.service.http.responses import answered
from ckm.service.page.facts import Outcome, Visitor, page_facts
from ckm.service.page.page_state import (
    MAX_PARAMETERS,
    PageState,
    View,
    asked_of,
    asked_table,
    query_of,
)
from ckm.service.page.sign_in import SignIn, session_of
from footing.messages import Message
from reports.service.page import ASSETS, asset, service_page
from tables.deadline import Deadline

_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self';"
    " connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_MEDIA = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_LARGE = 100_000  # bytes of a page that is worth compressing: one with a map
_FOR_EVER = "public, max-age=31536000, immutable"


class Page:
    """The page of a service.

    Parameters
    ----------
    context
        Where the page stands.
    """

    def __init__(self, context: RequestContext) -> None:
        self._context = context
        self._table_service = context.table_service

    def routes(self) -> list[Route]:
        """Return the routes of the page."""
        return [
            Route("/", self.get_page),
            Route("/", self.get_page, methods=["POST"]),  # a polygon is long for an address
            *SignIn(self._context, policy=_POLICY).routes(),
            Route("/static/{name}", self.get_asset),
        ]

    async def get_asset(self, request: Request) -> Response:
        """Send the style sheet or the script."""
        name = request.path_params["name"]
        if name not in ASSETS:
            raise ClientError("not_found")
        body, version = asset(name)
        is_current = request.query_params.get("v") == version
        headers = {"Cache-Control": _FOR_EVER if is_current else "no-cache"}
        kind = _MEDIA[name.rpartition(".")[2]]
        file = Rendered(body=body, media_type=kind, etag=f'"{version}"', headers=headers)
        return answered(request, file)

    async def get_page(self, request: Request) -> Response:
        """Answer with the page, or with a file of its table."""
        language = language_of(request.scope, self._table_service.service.about.languages)
        items = [*request.query_params.multi_items(), *await _fields(request)]
        is_look = any(name == "polygon" and text.strip() for name, text in items)
        # What a stranger draws is not looked at before he was let in, and costs a request.
        page_state, wrong = self._asked([] if is_look else items)
        outcome = Outcome(mistakes=wrong)
        try:
            caller, language = await self._context.enter(
                request,
                cost=int(page_state.is_table or is_look),
                session=session_of(request),
            )
            if is_look:
                page_state, wrong = await self._context.work(
                    request, lambda _: self._asked(items)
                )
                outcome = Outcome(mistakes=wrong)
            form = request.query_params.get("outputFormat")
            if page_state.is_table and not wrong:
                content = await self._context.work(
                    request, partial(self._found, page_state, form, caller, language)
                )
                if isinstance(content, Rendered):
                    return answered(request, content, more=self._headers(request))
                outcome = content
        except ClientError as client_error:
            outcome = Outcome(mistakes=[*wrong, client_error])
        who = getattr(request.state, "caller", None)
        if who is None and self._table_service.service.access.mode == "tokens":
            # What is wrong would tell a stranger which names there are.
            outcome = Outcome(mistakes=outcome.mistakes[-1:], is_stranger=True)
        for wrong_one in outcome.mistakes:
            self._context.note_mistake(request, wrong_one)
        may_filter = who is not None and self._table_service.may_filter(who)
        outcome = replace(outcome, may_filter=may_filter)
        view = View(self._table_service, page_state, language)
        visitor = self._visitor(request, who)
        html = await self._context.work(
            request,
            lambda _: service_page(page_facts(view, outcome, visitor), language=language),
        )
        return self._sent(request, html.encode("utf-8", "replace"), outcome, language)

    def _asked(self, items: list[tuple[str, str]]) -> tuple[PageState, list[ClientError]]:
        """Read what is asked for, and what is wrong with it."""
        table_service = self._table_service
        try:
            return asked_of(items, table_service.variables, table_service.answerer.centres)
        except ClientError as client_error:
            return PageState(), [client_error]

    def _visitor(self, request: Request, who: Caller | None) -> Visitor:
        """Say what the page has to know of who looks at it."""
        name = session_of(request)
        is_in = name is not None and who is not None and not who.id.startswith("address ")
        return Visitor(
            can_sign_in=self._table_service.has_tokens,
            address=request.url.query,
            caller=who if is_in else None,
            budget=getattr(request.state, "budget", None),
            leaving=SignIn.leaving(name) if is_in and name else "",
        )

    def _headers(self, request: Request) -> dict[str, str]:
        """Return the headers of what is for this caller; nobody else keeps it."""
        headers = self._context.budget_headers(request)
        if session_of(request) is None:
            return headers
        return {**headers, "Cache-Control": "private, no-cache"}

    def _found(
        self,
        page_state: PageState,
        form: str | None,
        caller: Caller,
        language: str,
        deadline: Deadline,
    ) -> Outcome | Rendered:
        query, wrong = query_of(page_state, self._table_service)
        self._table_service.require_filters(query, caller)  # before any work for the filter
        wrong += self._wrong_filter(query)
        if wrong:
            return Outcome(mistakes=wrong)
        asked = asked_table(page_state, query, self._table_service)
        if not form:
            return Outcome(
                answer=self._table_service.show(asked, caller=caller, deadline=deadline)
            )
        result = self._table_service.serve(
            asked,
            format=format_of(form),
            language=language,
            caller=caller,
            deadline=deadline,
        )
        if isinstance(result, Refusal):
            return Outcome(answer=Answer(query=query, refusal=result))
        return result

    def _wrong_filter(self, query: Query) -> list[ClientError]:
        try:
            self._table_service.answerer.planner.filter_variables(query.where)
        except ClientError as client_error:
            return [client_error]
        return []

    def _sent(self, request: Request, body: bytes, outcome: Outcome, language: str) -> Response:
        headers = {
            "Content-Language": language,
            "Content-Security-Policy": _POLICY,
            "Vary": "Accept-Language, Accept-Encoding, Authorization, Cookie",
            **self._headers(request),
        }
        # Not with the proof of a session in it: how well it is compressed would tell of it.
        takes_gzip = "gzip" in request.headers.get("accept-encoding", "").lower()
        if takes_gzip and len(body) > _LARGE and session_of(request) is None:
            body = gzip.compress(body, compresslevel=6, mtime=0)
            headers["Content-Encoding"] = "gzip"
        kind = Message("text/html; charset=utf-8")
        if request.method == "POST":
            headers["Cache-Control"] = "no-store"
        if outcome.status == 200:
            return answered(request, Rendered.of(body, kind, headers))
        headers["Cache-Control"] = "no-store"
        if outcome.status == 401:
            headers["WWW-Authenticate"] = 'Bearer realm="ckm"'
        return Response(body, outcome.status, headers, media_type=kind)


async def _fields(request: Request) -> list[tuple[str, str]]:
    """Return the fields of the form where it was sent as a body."""
    if request.method != "POST":
        return []
    try:
        text = (await request.body()).decode("ascii")
        return parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_PARAMETERS)
    except ValueError:
        raise bad_request("many_parameters", limit=MAX_PARAMETERS) from None
