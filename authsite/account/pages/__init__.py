"""The account pages: `sections` has the sections of this package, `forms` their forms."""
