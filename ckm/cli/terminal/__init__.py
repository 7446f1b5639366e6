"""How the command line talks: messages, logs, exit codes, and where results may go."""
