"""Reports: from numbers to one self-contained HTML page, in English and French.

Nothing is computed here. `reports.facts` says what a report needs to know.
"""
