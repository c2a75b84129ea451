-- What the monitor saw of the node, distributions, and what a sample is a
-- capacity of.

-- +goose Up

ALTER TABLE samples ADD COLUMN resource TEXT NOT NULL DEFAULT '';
ALTER TABLE samples ADD COLUMN info BOOLEAN NOT NULL DEFAULT FALSE;

-- A row a metric of the node. offsets of no bytes: those of the row before it
-- in the result, because one reading gives a point to all of them.
CREATE TABLE host_series (
    result   BIGINT NOT NULL REFERENCES results (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    metric   TEXT NOT NULL,
    unit     TEXT NOT NULL,
    counter  BOOLEAN NOT NULL,
    points   BIGINT NOT NULL,
    offsets  BYTEA NOT NULL, -- packed; nanoseconds since the result's start
    readings BYTEA NOT NULL, -- packed; the values
    PRIMARY KEY (result, position)
);

CREATE TABLE histograms (
    result   BIGINT NOT NULL REFERENCES results (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    metric   TEXT NOT NULL,
    unit     TEXT NOT NULL,
    encoded  BYTEA NOT NULL, -- packed; the text of an HdrHistogram
    PRIMARY KEY (result, position)
);
