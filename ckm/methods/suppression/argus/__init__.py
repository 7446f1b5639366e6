"""Files of tau-ARGUS: tables, metadata, hierarchies and batches, written and read."""
