"""The audit trail: one row for each thing that happened, in the transaction of its cause."""
