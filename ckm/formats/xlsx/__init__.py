"""XLSX, written."""
