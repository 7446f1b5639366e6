"""From records to cells: axes, hierarchies, and one scan for all margins."""
