-- Campaigns: experiments that are repeated on a schedule. A repetition is a run,
-- or a time of the schedule at which there was none.

-- +goose Up

CREATE TABLE campaigns (
    id          TEXT PRIMARY KEY,
    name        TEXT NOT NULL,
    state       TEXT NOT NULL,
    reason      TEXT NOT NULL,
    source_name TEXT NOT NULL,
    source      TEXT NOT NULL, -- the experiment file with its schedule
    server      TEXT NOT NULL,
    created     INTEGER,
    begins      INTEGER,
    ends        INTEGER, -- NULL: without end
    seed        INTEGER NOT NULL,
    finished    INTEGER
) STRICT;

CREATE TABLE repetitions (
    campaign TEXT NOT NULL REFERENCES campaigns (id) ON DELETE CASCADE,
    number   INTEGER NOT NULL,
    due      INTEGER,
    state    TEXT NOT NULL,
    run      TEXT NOT NULL, -- empty: there is none
    reason   TEXT NOT NULL,
    PRIMARY KEY (campaign, number)
) STRICT, WITHOUT ROWID;

-- What the run of a repetition measured, in brief: it can be computed again.
CREATE TABLE measured (
    campaign TEXT NOT NULL,
    number   INTEGER NOT NULL,
    version  INTEGER NOT NULL, -- of the content
    packed   BLOB NOT NULL,
    PRIMARY KEY (campaign, number, version),
    FOREIGN KEY (campaign, number) REFERENCES repetitions (campaign, number) ON DELETE CASCADE
) STRICT;

ALTER TABLE runs ADD COLUMN campaign TEXT NOT NULL DEFAULT ''; -- empty: a run of its own
ALTER TABLE runs ADD COLUMN repetition INTEGER NOT NULL DEFAULT 0;

-- Lists of runs, newest first, however many there are.
CREATE INDEX runs_newest ON runs (COALESCE(created, 0), id);
CREATE INDEX runs_campaign ON runs (campaign, COALESCE(created, 0), id);
