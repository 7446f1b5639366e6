"""How Sphinx builds the documentation: `make docs`."""

import posixpath
import re
import sys
from pathlib import Path

from bs4 import BeautifulSoup

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent))

from footing.version import engine_version  # noqa: E402

project = "ckm"
author = "the ckm developers"
html_show_copyright = False
release = engine_version()
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_click"]
exclude_patterns = ["_build"]
html_static_path = ["static"]
html_css_files = ["docs.css"]
html_theme = "furo"
default_role = "code"
html_title = f"ckm {release}"
html_copy_source = False
myst_heading_anchors = 4
napoleon_numpy_docstring = True
napoleon_google_docstring = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
# One object is shown under each package that makes it public.
suppress_warnings = ["ref.python"]


def _name_files_outside(_app, docname, source):
    """Name files of the source that are no page, instead of linking to them."""
    folder = (DOCS / docname).parent
    where = "dans les sources" if docname.startswith("fr/") else "in the source"

    def named(link):
        file = (folder / link[2]).resolve()
        if file.is_relative_to(DOCS):
            return link[0]
        return f"{link[1]} (`{file.relative_to(DOCS.parent)}` {where})"

    source[0] = re.sub(r"\[([^\]]+)\]\(((?:\.\./)+[^)#]+)(?:#[^)]*)?\)", named, source[0])


def _escape_numpy_names(_app, _what, _name, _object, _options, lines):
    """Keep `numpy.object_` from being read as a link."""
    lines[:] = [line.replace("object_", "object\\_") for line in lines]


#: What the theme says on a page, in French.
FRENCH = {
    "Contents": "Sommaire",
    "Home": "Accueil",
    "Next": "Suivant",
    "On this page": "Sur cette page",
    "Previous": "Précédent",
    "Search": "Rechercher",
    "Skip to content": "Aller au contenu",
    "Toggle Light / Dark / Auto color theme": "Clair, sombre ou automatique",
    "Toggle site navigation sidebar": "Ouvrir le menu du site",
    "Toggle table of contents sidebar": "Ouvrir le sommaire de la page",
    "Back to top": "Haut de page",
    "Menu": "Menu",
}


#: What the menu says above French pages.
FRENCH_CAPTIONS = {"Tutoriels", "Guides"}


def _show_in_its_language(app, pagename, _template, context, _doctree):
    """Give a page its language, the menu of that language and a link to the other."""
    is_french = pagename.startswith("fr/")
    other = pagename.removeprefix("fr/") if is_french else f"fr/{pagename}"
    if other not in app.env.found_docs:
        other = "index" if is_french else "fr/index"
    code, name = ("en", "English") if is_french else ("fr", "Français")
    link = f'<a href="{context["pathto"](other)}" lang="{code}" hreflang="{code}">{name}</a>'
    context["body"] = f'<p class="other-language">{link}</p>{context.get("body", "")}'
    if is_french:
        context["language"] = "fr"
        for word in ("_", "gettext"):
            context[word] = lambda text: FRENCH.get(text, text)
    menu = BeautifulSoup(context.get("furo_navigation_tree", ""), "html.parser")
    parts = menu.find_all(["p", "ul"], recursive=False)
    for before, part in zip([None, *parts], parts, strict=False):
        captions = [one.get_text() for one in (part, before) if one and one.name == "p"]
        if (not captions or captions[0] in FRENCH_CAPTIONS) != is_french:
            part.extract()
    for way in ("prev", "next"):  # the order of pages goes from one language to the other
        link = (context.get(way) or {}).get("link", "")
        page = posixpath.normpath(posixpath.join(posixpath.dirname(pagename), link))
        if page.startswith("fr/") != is_french:
            context[way] = None
    context["furo_navigation_tree"] = str(menu)


def setup(app):
    """Register what is done to each page."""
    app.connect("autodoc-process-docstring", _escape_numpy_names, priority=600)
    app.connect("source-read", _name_files_outside)
    app.connect("html-page-context", _show_in_its_language, priority=900)
