"""A service that answers table requests: over HTTP, and later on pages.

Its parts that need the extra ``[web]`` are imported by ``ckm serve`` alone.
"""

from ckm.service.answering.answer import Answer, Answerer
from ckm.service.answering.messages import Refusal
from ckm.service.answering.query import Query, Selection

__all__ = ["Answer", "Answerer", "Query", "Refusal", "Selection"]
