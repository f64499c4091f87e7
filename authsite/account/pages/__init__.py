"""The pages of the account. `layout` lists them and their sections, `forms` has the forms."""
