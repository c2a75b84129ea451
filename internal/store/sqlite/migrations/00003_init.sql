-- The schema of the embedded store; docs/store.md describes it. Times are
-- nanoseconds since 1970 in UTC, NULL where there is none.

-- +goose Up

-- "SCLB": tells a scalebench store from other databases.
PRAGMA application_id = 1396919362;

CREATE TABLE runs (
    id          TEXT PRIMARY KEY,
    name        TEXT NOT NULL,
    kind        TEXT NOT NULL,
    state       TEXT NOT NULL,
    reason      TEXT NOT NULL,
    source_name TEXT NOT NULL,
    source      TEXT NOT NULL, -- the experiment file itself
    asked       TEXT NOT NULL DEFAULT '{}', -- JSON: the question of the file, decoded
    seed        INTEGER NOT NULL,
    version     TEXT NOT NULL,
    server      TEXT NOT NULL,
    created     INTEGER,
    started     INTEGER,
    finished    INTEGER,
    campaign    TEXT NOT NULL DEFAULT '', -- empty: a run of its own
    repetition  INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Lists of runs, newest first, however many there are.
CREATE INDEX runs_newest ON runs (COALESCE(created, 0), id);
CREATE INDEX runs_campaign ON runs (campaign, COALESCE(created, 0), id);

-- The nodes of a run as they were when it began, in the order of position.
CREATE TABLE run_nodes (
    run        TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    id         TEXT NOT NULL,
    public_key TEXT NOT NULL,
    labels     TEXT NOT NULL, -- JSON
    facts      TEXT NOT NULL, -- JSON
    registered INTEGER,
    -- JSON: how often the fleet was asked for the node, and how long it took.
    startups   TEXT NOT NULL DEFAULT 'null',
    PRIMARY KEY (run, id)
) STRICT;

CREATE TABLE steps (
    id        TEXT PRIMARY KEY,
    run       TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    number    INTEGER NOT NULL,
    phase     TEXT NOT NULL,
    workload  TEXT NOT NULL,
    trial     INTEGER NOT NULL,
    barrier   INTEGER NOT NULL, -- boolean
    state     TEXT NOT NULL,
    attempt   INTEGER NOT NULL,
    start_at  INTEGER,
    reason    TEXT NOT NULL,
    treatment TEXT NOT NULL DEFAULT '{}', -- JSON: what the design of a study says of it
    UNIQUE (run, number)
) STRICT;

CREATE TABLE tasks (
    id       TEXT PRIMARY KEY,
    step     TEXT NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    node     TEXT NOT NULL,
    spec     TEXT NOT NULL, -- JSON
    UNIQUE (step, position)
) STRICT;

-- A result is a row of index columns with one packed body, and a row of points
-- for each metric.
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

CREATE TABLE artifact_chunks (
    task    TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    attempt INTEGER NOT NULL,
    name    TEXT NOT NULL,
    start   INTEGER NOT NULL, -- offset in bytes
    size    INTEGER NOT NULL, -- bytes, unpacked
    content BLOB NOT NULL, -- packed
    PRIMARY KEY (task, attempt, name, start)
) STRICT;

-- The queues of steps: names of items, and what became of each item. An item has at
-- most one record that counts. An empty name stands after the last item.
CREATE TABLE job_items (
    step     TEXT NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name     TEXT NOT NULL,
    PRIMARY KEY (step, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE jobs (
    step    TEXT NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
    item    TEXT NOT NULL, -- its key
    attempt INTEGER NOT NULL,
    node    TEXT NOT NULL,
    outcome TEXT NOT NULL,
    packed  BLOB NOT NULL,
    PRIMARY KEY (step, item)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    id       INTEGER PRIMARY KEY,
    run      TEXT REFERENCES runs (id) ON DELETE CASCADE, -- NULL: of the fleet
    step     TEXT NOT NULL,
    task     TEXT NOT NULL,
    node     TEXT NOT NULL,
    kind     TEXT NOT NULL,
    severity TEXT NOT NULL,
    at       INTEGER,
    message  TEXT NOT NULL
) STRICT;

CREATE INDEX events_run ON events (run);

-- The fleet: who may take part.
CREATE TABLE nodes (
    id         TEXT PRIMARY KEY,
    public_key TEXT NOT NULL,
    labels     TEXT NOT NULL, -- JSON
    facts      TEXT NOT NULL, -- JSON
    registered INTEGER,
    left_at    INTEGER -- when its agent said goodbye; NULL since it said hello again
) STRICT;

-- Campaigns: experiments that are repeated on a schedule. A repetition is a run,
-- or a time of the schedule at which there was none.
CREATE TABLE campaigns (
    id          TEXT PRIMARY KEY,
    name        TEXT NOT NULL,
    state       TEXT NOT NULL,
    reason      TEXT NOT NULL,
    source_name TEXT NOT NULL,
    source      TEXT NOT NULL, -- the experiment file with its schedule
    asked       TEXT NOT NULL DEFAULT '{}', -- JSON: the question of the file, decoded
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

-- The servers that share the store, and when each was last alive, by the clock of
-- the database: those of their machines may differ.
CREATE TABLE servers (
    id   TEXT PRIMARY KEY,
    seen INTEGER NOT NULL
) STRICT;

-- One row that Ping writes.
CREATE TABLE store_probe (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    at INTEGER
) STRICT;

INSERT INTO store_probe (id) VALUES (1);
