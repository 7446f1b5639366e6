"""From records to cells: sources, record keys, requests, hierarchies, cubes.

The only package that reads records. What leaves it are `Cells`: counts and cell keys,
which are disclosive until `ckm` has perturbed them.
"""

from footing.lazy import moved as _moved
from tables.cells.blocks import Cells
from tables.cells.cube import cube, record_groups
from tables.cells.hierarchy import CodeTree, Hierarchy
from tables.contribution_bounds import contributions
from tables.errors import (
    DataError,
    DataWarning,
    FilterError,
    KeyQualityError,
    KeyQualityWarning,
    RequestError,
    SourceError,
    TablesError,
)
from tables.keys import HashedKeys, StoredKeys, attach_keys, draw_keys
from tables.quality import check_keys
from tables.recoding.variable import DerivedVariable
from tables.request import Request
from tables.secret import Secret
from tables.source.source import open_source, read_categories
from tables.source.texts import ReadOptions

__all__ = [
    "Cells",
    "CodeTree",
    "DataError",
    "DataWarning",
    "DerivedVariable",
    "FilterError",
    "HashedKeys",
    "Hierarchy",
    "KeyQualityError",
    "KeyQualityWarning",
    "ReadOptions",
    "Request",
    "RequestError",
    "Secret",
    "SourceError",
    "StoredKeys",
    "TablesError",
    "attach_keys",
    "check_keys",
    "contributions",
    "cube",
    "draw_keys",
    "open_source",
    "read_categories",
    "record_groups",
]

#: Names of 0.1 that are asked of their modules, by whoever needs them.
__getattr__ = _moved(
    __name__,
    {
        "Axis": "tables.cells.axes",
        "Condition": "tables.filtering.conditions",
        "Contributions": "tables.contribution_bounds",
        "Deadline": "tables.deadline",
        "Filter": "tables.filtering.filters",
        "GivenCells": "tables.cells.given",
        "KeyQuality": "tables.quality",
        "Magnitudes": "tables.magnitudes.amounts",
        "Prepared": "tables.prepared.prepared",
        "PreparedCells": "tables.prepared.prepared",
        "Reading": "tables.contribution_bounds",
        "Source": "tables.source.source",
        "StoppedError": "tables.errors",
        "as_variables": "tables.recoding.variable",
        "cell_table": "tables.cells.cube",
        "derive_variables": "tables.recoding.derive",
        "parse_filter": "tables.filtering.filters",
        "prepare": "tables.prepared.prepare",
        "require_fit": "tables.request",
        "values_at": "tables.cells.order",
    },
)
