"""P-tables in the layouts of other tools, read and written with every loss named."""

from ptable.dialects.registry import DIALECTS, detect, read_tables, write_tables

__all__ = ["DIALECTS", "detect", "read_tables", "write_tables"]
