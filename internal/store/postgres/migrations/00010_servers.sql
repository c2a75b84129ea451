-- The servers that share the store, and when each was last alive, by the clock of
-- the database: those of their machines may differ.

-- +goose Up

CREATE TABLE servers (
    id   TEXT COLLATE "C" PRIMARY KEY,
    seen BIGINT NOT NULL
);
