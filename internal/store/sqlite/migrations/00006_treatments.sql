-- What the design of a study says of a step, as JSON.

-- +goose Up

ALTER TABLE steps ADD COLUMN treatment TEXT NOT NULL DEFAULT '{}';
