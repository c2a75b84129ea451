-- Campaigns: experiments that are repeated on a schedule. A repetition is a run,
-- or a time of the schedule at which there was none.

-- +goose Up

CREATE TABLE campaigns (
    id          TEXT COLLATE "C" PRIMARY KEY,
    name        TEXT NOT NULL,
    state       TEXT NOT NULL,
    reason      TEXT NOT NULL,
    source_name TEXT NOT NULL,
    source      TEXT NOT NULL, -- the experiment file with its schedule
    server      TEXT NOT NULL,
    created     BIGINT,
    begins      BIGINT,
    ends        BIGINT, -- NULL: without end
    seed        BIGINT NOT NULL,
    finished    BIGINT
);

CREATE TABLE repetitions (
    campaign TEXT COLLATE "C" NOT NULL REFERENCES campaigns (id) ON DELETE CASCADE,
    number   BIGINT NOT NULL,
    due      BIGINT,
    state    TEXT NOT NULL,
    run      TEXT COLLATE "C" NOT NULL, -- empty: there is none
    reason   TEXT NOT NULL,
    PRIMARY KEY (campaign, number)
);

-- What the run of a repetition measured, in brief: it can be computed again.
CREATE TABLE measured (
    campaign TEXT COLLATE "C" NOT NULL,
    number   BIGINT NOT NULL,
    version  BIGINT NOT NULL, -- of the content
    packed   BYTEA NOT NULL,
    PRIMARY KEY (campaign, number, version),
    FOREIGN KEY (campaign, number) REFERENCES repetitions (campaign, number) ON DELETE CASCADE
);

ALTER TABLE measured ALTER COLUMN packed SET STORAGE EXTERNAL;

ALTER TABLE runs ADD COLUMN campaign TEXT COLLATE "C" NOT NULL DEFAULT ''; -- empty: a run of its own
ALTER TABLE runs ADD COLUMN repetition BIGINT NOT NULL DEFAULT 0;

-- Lists of runs, newest first, however many there are.
CREATE INDEX runs_newest ON runs (COALESCE(created, 0), id);
CREATE INDEX runs_campaign ON runs (campaign, COALESCE(created, 0), id);
