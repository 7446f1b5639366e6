"""Where a ledger keeps what was published: sealed, in SQLite or PostgreSQL."""
