-- The servers that share the store, and when each was last alive, by the clock of
-- the database: those of their machines may differ.

-- +goose Up

CREATE TABLE servers (
    id   TEXT PRIMARY KEY,
    seen INTEGER NOT NULL
) STRICT;
