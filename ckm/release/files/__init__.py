"""The files of a release beside its pages: tables, p-tables, manifests, and where they lie."""
