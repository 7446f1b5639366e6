"""The door of the page: people with a token sign in and out; programs send it instead."""

import re
from functools import partial
from urllib.parse import parse_qs

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ckm.service.access.sessions import LASTS_S, is_proof, new_name, proof_of
from ckm.service.answering.messages import ClientError, notice_of
from ckm.service.http.middleware import language_of
from ckm.service.http.request_context import RequestContext
from ckm.service.http.request_parsing import address_of
from reports.facts.service import SignInFacts
from reports.service.page import sign_in_page

_BACK = re.compile(r"[!-~]{0,6000}")
_SIGN_IN, _SIGN_OUT = "sign in", "sign out"
_MAX_FIELDS = 10


def _cookie(request: Request, kind: str) -> str:
    """Name a cookie; over TLS so that no other host can set it."""
    return f"__Host-ckm-{kind}" if request.url.scheme == "https" else f"ckm-{kind}"


def session_of(request: Request) -> str | None:
    """Return the name of the session that a browser shows."""
    return request.cookies.get(_cookie(request, "session"))


class SignIn:
    """Where people sign in and out.

    Parameters
    ----------
    context
        Who lets callers in.
    policy
        The content security policy of pages.
    """

    def __init__(self, context: RequestContext, *, policy: str) -> None:
        self._context = context
        self._table_service = context.table_service
        self._policy = policy

    def routes(self) -> list[Route]:
        """Return the routes; none where there are no tokens."""
        if not self._table_service.has_tokens:
            return []
        return [
            Route("/sign-in", self.ask),
            Route("/sign-in", self.enter, methods=["POST"]),
            Route("/sign-out", self.leave, methods=["POST"]),
        ]

    async def ask(self, request: Request) -> Response:
        """Show the form."""
        return self._form(request, request.query_params.get("back", ""))

    async def enter(self, request: Request) -> Response:
        """Begin a session for who shows a token."""
        fields = await _fields(request)
        back = fields.get("back", "")
        cookie = request.cookies.get(_cookie(request, "form"), "")
        if not _is_own(request) or not is_proof(
            fields.get("proof", ""), cookie, purpose=_SIGN_IN
        ):
            return self._form(request, back, ClientError("stale_form"))
        try:
            caller = await self._context.verified(
                fields.get("token", "").strip(), address=address_of(request), is_sign_in=True
            )
            name = await anyio.to_thread.run_sync(self._table_service.sign_in, caller)
        except ClientError as client_error:
            return self._form(request, back, client_error)
        answer = _to_page(back)
        _set(request, answer, "session", name)
        _set(request, answer, "form", "")
        return answer

    async def leave(self, request: Request) -> Response:
        """End a session."""
        fields = await _fields(request)
        name = session_of(request) or ""
        if not _is_own(request) or not is_proof(
            fields.get("proof", ""), name, purpose=_SIGN_OUT
        ):
            raise ClientError("stale_form")
        await anyio.to_thread.run_sync(partial(self._table_service.sign_out, name))
        answer = _to_page(fields.get("back", ""))
        _set(request, answer, "session", "")
        return answer

    @staticmethod
    def leaving(name: str) -> str:
        """Return what the form for signing out shows."""
        return proof_of(name, purpose=_SIGN_OUT)

    def _form(
        self, request: Request, back: str, client_error: ClientError | None = None
    ) -> Response:
        service = self._table_service.service
        language = language_of(request.scope, service.about.languages)
        nonce = new_name()
        facts = SignInFacts(
            title=service.about.title[language],
            proof=proof_of(nonce, purpose=_SIGN_IN),
            back=_safe(back),
            problem="" if client_error is None else client_error.words(language),
            contact=service.about.contact,
            notice=notice_of(service, language),
        )
        answer = Response(
            sign_in_page(facts, language=language),
            200 if client_error is None else client_error.status,
            {
                "Content-Language": language,
                "Content-Security-Policy": self._policy,
                "Cache-Control": "no-store",
            },
            media_type="text/html; charset=utf-8",
        )
        _set(request, answer, "form", nonce)
        return answer


async def _fields(request: Request) -> dict[str, str]:
    """Read the fields of a form, the last of each name."""
    try:
        text = (await request.body()).decode("ascii")
        fields = parse_qs(text, keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise ClientError("stale_form") from None
    return {name: texts[-1] for name, texts in fields.items()}


def _is_own(request: Request) -> bool:
    """Return whether no browser says that another site sent the form."""
    return request.headers.get("sec-fetch-site", "same-origin") in {"same-origin", "none"}


def _safe(back: str) -> str:
    """Return the words of an address of our own page, or none."""
    return back if _BACK.fullmatch(back) else ""


def _to_page(back: str) -> RedirectResponse:
    # Whatever stands behind "./?" stays on this site.
    back = _safe(back)
    headers = {"Cache-Control": "no-store"}
    return RedirectResponse(f"./?{back}" if back else "./", 303, headers)


def _set(request: Request, answer: Response, kind: str, text: str) -> None:
    """Give the browser a cookie that no script and no other site can use, or take it back."""
    answer.set_cookie(
        _cookie(request, kind),
        text,
        max_age=LASTS_S if text else 0,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
