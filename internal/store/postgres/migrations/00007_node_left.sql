-- When a node's agent said goodbye, NULL since it said hello again.

-- +goose Up

ALTER TABLE nodes ADD COLUMN left_at BIGINT;
