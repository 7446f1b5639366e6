"""From records to cells: sources, record keys, requests, hierarchies, cubes.

The only package that reads records. What leaves it are `Cells`: counts and cell keys,
which are disclosive until `ckm` has perturbed them.
"""

from tables.cells.axes import Axis
from tables.cells.blocks import Cells
from tables.cells.cube import cell_table, cube, record_groups
from tables.cells.given import GivenCells
from tables.cells.hierarchy import CodeTree, Hierarchy
from tables.cells.order import values_at
from tables.contribution_bounds import Contributions, Reading, contributions
from tables.deadline import Deadline
from tables.errors import (
    DataError,
    DataWarning,
    FilterError,
    KeyQualityError,
    KeyQualityWarning,
    RequestError,
    SourceError,
    StoppedError,
    TablesError,
)
from tables.filtering.conditions import Condition
from tables.filtering.filters import Filter, parse_filter
from tables.keys import HashedKeys, StoredKeys, attach_keys, draw_keys
from tables.magnitudes.amounts import Magnitudes
from tables.prepared.prepare import prepare
from tables.prepared.prepared import Prepared, PreparedCells
from tables.quality import KeyQuality, check_keys
from tables.recoding.derive import derive_variables
from tables.recoding.variable import DerivedVariable, as_variables
from tables.request import Request, require_fit
from tables.secret import Secret
from tables.source.source import Source, open_source, read_categories
from tables.source.texts import ReadOptions

__all__ = [
    "Axis",
    "Cells",
    "CodeTree",
    "Condition",
    "Contributions",
    "DataError",
    "DataWarning",
    "Deadline",
    "DerivedVariable",
    "Filter",
    "FilterError",
    "GivenCells",
    "HashedKeys",
    "Hierarchy",
    "KeyQuality",
    "KeyQualityError",
    "KeyQualityWarning",
    "Magnitudes",
    "Prepared",
    "PreparedCells",
    "ReadOptions",
    "Reading",
    "Request",
    "RequestError",
    "Secret",
    "Source",
    "SourceError",
    "StoppedError",
    "StoredKeys",
    "TablesError",
    "as_variables",
    "attach_keys",
    "cell_table",
    "check_keys",
    "contributions",
    "cube",
    "derive_variables",
    "draw_keys",
    "open_source",
    "parse_filter",
    "prepare",
    "read_categories",
    "record_groups",
    "require_fit",
    "values_at",
]
