-- What the monitor saw of the node, distributions, and what a sample is a
-- capacity of.

-- +goose Up

ALTER TABLE samples ADD COLUMN resource TEXT NOT NULL DEFAULT '';
ALTER TABLE samples ADD COLUMN info INTEGER NOT NULL DEFAULT 0; -- boolean

-- A row a metric of the node. offsets of no bytes: those of the row before it
-- in the result, because one reading gives a point to all of them.
CREATE TABLE host_series (
    result   INTEGER NOT NULL REFERENCES results (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    metric   TEXT NOT NULL,
    unit     TEXT NOT NULL,
    counter  INTEGER NOT NULL, -- boolean
    points   INTEGER NOT NULL,
    offsets  BLOB NOT NULL, -- packed; nanoseconds since the result's start
    readings BLOB NOT NULL, -- packed; the values
    PRIMARY KEY (result, position)
) STRICT;

CREATE TABLE histograms (
    result   INTEGER NOT NULL REFERENCES results (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    metric   TEXT NOT NULL,
    unit     TEXT NOT NULL,
    encoded  BLOB NOT NULL, -- packed; the text of an HdrHistogram
    PRIMARY KEY (result, position)
) STRICT;
