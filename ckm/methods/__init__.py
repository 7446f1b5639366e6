"""Methods of protection: each takes the data of a job and gives the tables to publish."""
