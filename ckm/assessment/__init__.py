"""The numbers of a release: from original and published counts to the facts of its report.

Original counts stay in the process. What leaves are facts (`reports.facts.release`): aggregates
for the office, and of these the few that everybody may know.
"""
