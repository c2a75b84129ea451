-- A result becomes a row of index columns with one packed body, and a row of
-- points for each metric. What is stored moves in Go (sqlstore/oldresults.go),
-- in small transactions; migration 5 drops the old tables.

-- +goose Up

ALTER TABLE results RENAME TO old_results;

CREATE TABLE results (
    id       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task     TEXT COLLATE "C" NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    attempt  BIGINT NOT NULL,
    run      TEXT COLLATE "C" NOT NULL,
    step     BIGINT NOT NULL, -- its number
    position BIGINT NOT NULL, -- of the task in the step
    node     TEXT NOT NULL,
    outcome  TEXT NOT NULL,
    started  BIGINT,
    ended    BIGINT,
    body     BYTEA NOT NULL, -- packed; error, clock, exit code, samples
    output   BYTEA, -- packed; the texts of stdout and stderr
    UNIQUE (task, attempt),
    UNIQUE (run, step, attempt, position)
);

CREATE TABLE points (
    result BIGINT NOT NULL REFERENCES results (id) ON DELETE CASCADE,
    kind   BIGINT NOT NULL, -- 1: series, 2: of the host, 3: histograms
    metric TEXT COLLATE "C" NOT NULL, -- empty: the times of the others
    packed BYTEA NOT NULL,
    PRIMARY KEY (result, kind, metric)
);

-- What is packed does not become smaller by compressing it again.
ALTER TABLE results ALTER COLUMN body SET STORAGE EXTERNAL, ALTER COLUMN output SET STORAGE EXTERNAL;
ALTER TABLE points ALTER COLUMN packed SET STORAGE EXTERNAL;
