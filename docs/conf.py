"""How Sphinx builds the documentation: `make docs`."""

import importlib.metadata
import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent))

project = "ckm"
author = "the ckm developers"
release = importlib.metadata.version("ckm-engine")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_click"]
exclude_patterns = ["_build"]
html_theme = "furo"
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

    def named(link):
        file = (folder / link[2]).resolve()
        if file.is_relative_to(DOCS):
            return link[0]
        return f"{link[1]} (`{file.relative_to(DOCS.parent)}` in the source)"

    source[0] = re.sub(r"\[([^\]]+)\]\(((?:\.\./)+[^)#]+)(?:#[^)]*)?\)", named, source[0])


def _escape_numpy_names(_app, _what, _name, _object, _options, lines):
    """Keep `numpy.object_` from being read as a link."""
    lines[:] = [line.replace("object_", "object\\_") for line in lines]


def setup(app):
    """Register what is done to each page."""
    app.connect("autodoc-process-docstring", _escape_numpy_names, priority=600)
    app.connect("source-read", _name_files_outside)
