-- How often the fleet was asked for a node of a run, and how long it took, as JSON.

-- +goose Up

ALTER TABLE run_nodes ADD COLUMN startups TEXT NOT NULL DEFAULT 'null';
