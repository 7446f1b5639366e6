"""The page of a service: from plain facts to HTML; nothing is computed or counted here."""
