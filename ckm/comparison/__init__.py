"""Methods and designs side by side on the tables of a job."""
