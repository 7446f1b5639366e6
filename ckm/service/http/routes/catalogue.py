"""The route of the catalogue, which portals of open data harvest."""

import json

from starlette.responses import Response

from ckm.service.answering.catalogue import MEDIA_TYPE, catalogue_of
from ckm.service.answering.render import Rendered
from ckm.service.http.request_context import Call
from ckm.service.http.responses import answered


async def get_catalogue(call: Call) -> Response:
    """Catalogue of the tables, as DCAT 3 in JSON-LD, in all languages."""
    table_service = call.table_service
    key = ("catalogue", call.language)
    result = table_service.rendered.get(key)
    if result is None:
        document = catalogue_of(
            table_service.service,
            variables=table_service.variables,
            measures=table_service.measures,
            permits=lambda query: not table_service.answerer.refuses_shape(query),
        )
        body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
        result = Rendered.of(body, MEDIA_TYPE, {"Content-Language": call.language})
        table_service.rendered.put(key, result)
    return answered(call.request, result)
