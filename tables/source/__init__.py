"""Where records come from: files, frames and DuckDB, and what their values read as."""
