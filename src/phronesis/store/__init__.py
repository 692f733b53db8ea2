"""The database: schema, transactions and statements for SQLite and PostgreSQL. All SQL lives here."""
