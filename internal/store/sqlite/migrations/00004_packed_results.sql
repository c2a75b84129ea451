-- A result becomes a row of index columns with one packed body, and a row of
-- points for each metric. What is stored moves in Go (sqlstore/oldresults.go),
-- in small transactions; migration 5 drops the old tables.

-- +goose Up

ALTER TABLE results RENAME TO old_results;

CREATE TABLE results (
    id       INTEGER PRIMARY KEY,
    task     TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    attempt  INTEGER NOT NULL,
    run      TEXT NOT NULL,
    step     INTEGER NOT NULL, -- its number
    position INTEGER NOT NULL, -- of the task in the step
    node     TEXT NOT NULL,
    outcome  TEXT NOT NULL,
    started  INTEGER,
    ended    INTEGER,
    body     BLOB NOT NULL, -- packed; error, clock, exit code, samples
    output   BLOB, -- packed; the texts of stdout and stderr
    UNIQUE (task, attempt),
    UNIQUE (run, step, attempt, position)
) STRICT;

CREATE TABLE points (
    result INTEGER NOT NULL REFERENCES results (id) ON DELETE CASCADE,
    kind   INTEGER NOT NULL, -- 1: series, 2: of the host, 3: histograms
    metric TEXT NOT NULL, -- empty: the times of the others
    packed BLOB NOT NULL,
    PRIMARY KEY (result, kind, metric)
) STRICT, WITHOUT ROWID;
