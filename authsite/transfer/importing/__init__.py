"""Import users and clients of Laravel Passport, Django, a table as CSV, or another authsite.

`sources` reads rows, `passport`, `django`, `table` and `own` make drafts of them, `users` and
`clients` check the drafts and write them in batches. A row that is not taken has a reason, and
does not stop the others. A batch is one transaction, and the id of a user follows from the id in
the source, so an import may be stopped and started again.
"""
