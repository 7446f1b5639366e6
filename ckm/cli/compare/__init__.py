"""``ckm compare``: methods, or designs of noise, on the tables of a job."""
