"""Ideas: changes of base that are screened, confirmed with fresh seeds, and kept in a ledger (docs/own-idea.md)."""
