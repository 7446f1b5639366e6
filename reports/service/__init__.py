"""The page of a service: from plain facts to HTML; nothing is computed or counted here."""

from reports.facts.service import (
    Choice,
    Column,
    Download,
    Field,
    Grid,
    Group,
    Head,
    PageFacts,
    Problem,
    Reader,
    Row,
    SignInFacts,
    Try,
    Unpublished,
    Withheld,
)
from reports.service.page import ASSETS, asset, service_page, sign_in_page

__all__ = [
    "ASSETS",
    "Choice",
    "Column",
    "Download",
    "Field",
    "Grid",
    "Group",
    "Head",
    "PageFacts",
    "Problem",
    "Reader",
    "Row",
    "SignInFacts",
    "Try",
    "Unpublished",
    "Withheld",
    "asset",
    "service_page",
    "sign_in_page",
]
