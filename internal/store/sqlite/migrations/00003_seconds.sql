-- Histograms of single seconds.

-- +goose Up

ALTER TABLE histograms ADD COLUMN second INTEGER NOT NULL DEFAULT 0; -- from 1; 0: all that is scored
