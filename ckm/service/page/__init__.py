"""The page: choose a table in a browser, see it, and what it is not published for.

It asks the same table service as the API, and hands plain facts to `reports.service`.
"""

from ckm.service.page.routes import Page

__all__ = ["Page"]
