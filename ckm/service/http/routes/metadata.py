"""Routes that describe what there is: tables, variables, code lists, limits."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.requests import Request  # noqa: TC002  (FastAPI looks at it)
from starlette.responses import Response  # noqa: TC002

from ckm import __version__
from ckm.service.answering.client_error import ClientError
from ckm.service.answering.pxweb_selection import codelists_of
from ckm.service.answering.render import Rendered, etag_of
from ckm.service.http.request_parsing import format_of, parameters_of
from ckm.service.http.responses import answered
from ckm.service.http.routes import pxweb_metadata as pxweb

if TYPE_CHECKING:
    from collections.abc import Callable

    from ckm.service.http.request_context import RequestContext

__all__ = ["Descriptions"]


class Descriptions:
    """Descriptions cost nothing of a budget, and are written once.

    Parameters
    ----------
    context
        Who lets callers in.
    """

    def __init__(self, context: RequestContext) -> None:
        self._context = context
        self._table_service = context.table_service
        self._described: dict[tuple[str, ...], Rendered] = {}

    async def list_tables(self, request: Request) -> Response:
        """List the tables of the service."""
        known = ("lang", "query", "pagenumber", "pagesize")
        plain = parameters_of(request, known=known).plain
        language = await self._open(request)
        page = _whole(plain, "pagenumber", default=1, most=10**6)
        size = _whole(plain, "pagesize", default=20, most=1000)
        listed = pxweb.table_list(
            self._table_service.service,
            self._table_service.variables,
            language=language,
            query=_text(plain, "query", most=1000),
            page=page,
            size=size,
        )
        return answered(request, _json(listed, language))

    async def get_table(self, request: Request, table_id: str) -> Response:
        """Describe the table."""
        parameters_of(request, known=("lang",))
        language = await self._open(request)
        self._context.require_table(table_id)
        table_service = self._table_service
        return self._response(
            request,
            ("table", language),
            lambda: pxweb.table(
                table_service.service, table_service.variables, language=language
            ),
        )

    async def get_metadata(self, request: Request, table_id: str) -> Response:
        """Describe its variables."""
        plain = parameters_of(request, known=("lang", "outputformat")).plain
        language = await self._open(request)
        self._context.require_table(table_id)
        if format_of(plain.get("outputformat")) != "json-stat2":
            raise ClientError("bad_parameter", name="outputFormat", known=["json-stat2"])
        table_service = self._table_service
        return self._response(
            request,
            ("metadata", language),
            lambda: pxweb.metadata(
                table_service.service,
                table_service.variables,
                language=language,
                measures=table_service.measures,
            ),
        )

    async def get_codelist(self, request: Request, codelist_id: str) -> Response:
        """List categories."""
        parameters_of(request, known=("lang",))
        language = await self._open(request)
        table_service = self._table_service
        for variable in table_service.variables.values():
            if codelist_id in codelists_of(variable):
                return self._response(
                    request,
                    ("codelist", codelist_id, language),
                    partial(
                        pxweb.codelist,
                        table_service.service,
                        variable,
                        name=codelist_id,
                        language=language,
                    ),
                )
        known = [name for v in table_service.variables.values() for name in codelists_of(v)]
        raise ClientError("no_codelist", name=codelist_id, known=known)

    async def get_config(self, request: Request) -> Response:
        """Tell limits and abilities."""
        parameters_of(request, known=("lang",))
        language = await self._open(request)
        table_service = self._table_service
        return self._response(
            request,
            ("config", language),
            lambda: pxweb.config(
                table_service.service,
                version=__version__,
                most_cells=table_service.answerer.settings.maximum_cells,
            ),
        )

    async def _open(self, request: Request) -> str:
        """Let a caller read, and return the language."""
        _, language = await self._context.enter(request, cost=0)
        return language

    def _response(
        self, request: Request, key: tuple[str, ...], describe: Callable[[], Any]
    ) -> Response:
        """Answer with a description, which is written once."""
        made = self._described.get(key)
        if made is None:
            made = self._described[key] = _json(describe(), key[-1])
        return answered(request, made)


def _json(document: Any, language: str) -> Rendered:
    body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    return Rendered(
        body=body,
        media_type="application/json",
        etag=etag_of(body),
        headers={"Content-Language": language},
    )


def _text(plain: Any, name: str, *, most: int) -> str:
    text = str(plain.get(name, ""))
    if len(text) > most:
        raise ClientError("bad_parameter", name=name)
    return text


def _whole(plain: Any, name: str, *, default: int, most: int) -> int:
    text = plain.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most):
        raise ClientError("bad_parameter", name=name)
    return int(text)
