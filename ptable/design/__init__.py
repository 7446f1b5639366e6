"""What a p-table is asked for: noise, mechanisms and their stacks."""
