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
    seed        INTEGER NOT NULL,
    version     TEXT NOT NULL,
    server      TEXT NOT NULL,
    created     INTEGER,
    started     INTEGER,
    finished    INTEGER
) STRICT;

-- The nodes of a run as they were when it began, in the order of position.
CREATE TABLE run_nodes (
    run        TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    id         TEXT NOT NULL,
    public_key TEXT NOT NULL,
    labels     TEXT NOT NULL, -- JSON
    facts      TEXT NOT NULL, -- JSON
    registered INTEGER,
    PRIMARY KEY (run, id)
) STRICT;

CREATE TABLE steps (
    id       TEXT PRIMARY KEY,
    run      TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    number   INTEGER NOT NULL,
    phase    TEXT NOT NULL,
    workload TEXT NOT NULL,
    trial    INTEGER NOT NULL,
    barrier  INTEGER NOT NULL, -- boolean
    state    TEXT NOT NULL,
    attempt  INTEGER NOT NULL,
    start_at INTEGER,
    reason   TEXT NOT NULL,
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

CREATE TABLE results (
    id           INTEGER PRIMARY KEY,
    task         TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    attempt      INTEGER NOT NULL,
    outcome      TEXT NOT NULL,
    error        TEXT NOT NULL,
    started      INTEGER,
    ended        INTEGER,
    clock_offset INTEGER NOT NULL, -- nanoseconds
    clock_error  INTEGER NOT NULL, -- nanoseconds
    exit_code    INTEGER,
    UNIQUE (task, attempt)
) STRICT;

CREATE TABLE outputs (
    result       INTEGER NOT NULL REFERENCES results (id) ON DELETE CASCADE,
    stream       TEXT NOT NULL, -- stdout, stderr
    total        INTEGER NOT NULL, -- bytes printed
    truncated    INTEGER NOT NULL, -- boolean
    artifact     TEXT NOT NULL,
    artifact_cut INTEGER NOT NULL, -- boolean
    content      BLOB NOT NULL, -- packed
    PRIMARY KEY (result, stream)
) STRICT;

CREATE TABLE samples (
    result   INTEGER NOT NULL REFERENCES results (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    metric   TEXT NOT NULL,
    unit     TEXT NOT NULL,
    value    REAL NOT NULL,
    better   TEXT NOT NULL,
    labels   TEXT NOT NULL, -- JSON
    PRIMARY KEY (result, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE series (
    result   INTEGER NOT NULL REFERENCES results (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    metric   TEXT NOT NULL,
    unit     TEXT NOT NULL,
    points   INTEGER NOT NULL,
    offsets  BLOB NOT NULL, -- packed; nanoseconds since the result's start
    counters BLOB NOT NULL, -- packed; the values
    PRIMARY KEY (result, position)
) STRICT;

CREATE TABLE artifact_chunks (
    task    TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    attempt INTEGER NOT NULL,
    name    TEXT NOT NULL,
    start   INTEGER NOT NULL, -- offset in bytes
    size    INTEGER NOT NULL, -- bytes, unpacked
    content BLOB NOT NULL, -- packed
    PRIMARY KEY (task, attempt, name, start)
) STRICT;

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
    registered INTEGER
) STRICT;

-- One row that Ping writes.
CREATE TABLE store_probe (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    at INTEGER
) STRICT;

INSERT INTO store_probe (id) VALUES (1);
