-- The schema of the shared store; docs/store.md describes it. Times are
-- nanoseconds since 1970 in UTC, NULL where there is none. Ids compare byte by
-- byte, whatever the locale of the database.

-- +goose Up

CREATE TABLE runs (
    id          TEXT COLLATE "C" PRIMARY KEY,
    name        TEXT NOT NULL,
    kind        TEXT NOT NULL,
    state       TEXT NOT NULL,
    reason      TEXT NOT NULL,
    source_name TEXT NOT NULL,
    source      TEXT NOT NULL, -- the experiment file itself
    seed        BIGINT NOT NULL,
    version     TEXT NOT NULL,
    server      TEXT NOT NULL,
    created     BIGINT,
    started     BIGINT,
    finished    BIGINT
);

-- The nodes of a run as they were when it began, in the order of position.
CREATE TABLE run_nodes (
    run        TEXT COLLATE "C" NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    position   BIGINT NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    public_key TEXT NOT NULL,
    labels     TEXT NOT NULL, -- JSON
    facts      TEXT NOT NULL, -- JSON
    registered BIGINT,
    PRIMARY KEY (run, id)
);

CREATE TABLE steps (
    id       TEXT COLLATE "C" PRIMARY KEY,
    run      TEXT COLLATE "C" NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    number   BIGINT NOT NULL,
    phase    TEXT NOT NULL,
    workload TEXT NOT NULL,
    trial    BIGINT NOT NULL,
    barrier  BOOLEAN NOT NULL,
    state    TEXT NOT NULL,
    attempt  BIGINT NOT NULL,
    start_at BIGINT,
    reason   TEXT NOT NULL,
    UNIQUE (run, number)
);

CREATE TABLE tasks (
    id       TEXT COLLATE "C" PRIMARY KEY,
    step     TEXT COLLATE "C" NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    node     TEXT NOT NULL,
    spec     TEXT NOT NULL, -- JSON
    UNIQUE (step, position)
);

CREATE TABLE results (
    id           BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task         TEXT COLLATE "C" NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    attempt      BIGINT NOT NULL,
    outcome      TEXT NOT NULL,
    error        TEXT NOT NULL,
    started      BIGINT,
    ended        BIGINT,
    clock_offset BIGINT NOT NULL, -- nanoseconds
    clock_error  BIGINT NOT NULL, -- nanoseconds
    exit_code    BIGINT,
    UNIQUE (task, attempt)
);

CREATE TABLE outputs (
    result       BIGINT NOT NULL REFERENCES results (id) ON DELETE CASCADE,
    stream       TEXT NOT NULL, -- stdout, stderr
    total        BIGINT NOT NULL, -- bytes printed
    truncated    BOOLEAN NOT NULL,
    artifact     TEXT NOT NULL,
    artifact_cut BOOLEAN NOT NULL,
    content      BYTEA NOT NULL, -- packed
    PRIMARY KEY (result, stream)
);

CREATE TABLE samples (
    result   BIGINT NOT NULL REFERENCES results (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    metric   TEXT NOT NULL,
    unit     TEXT NOT NULL,
    value    DOUBLE PRECISION NOT NULL,
    better   TEXT NOT NULL,
    labels   TEXT NOT NULL, -- JSON
    PRIMARY KEY (result, position)
);

CREATE TABLE series (
    result   BIGINT NOT NULL REFERENCES results (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    metric   TEXT NOT NULL,
    unit     TEXT NOT NULL,
    points   BIGINT NOT NULL,
    offsets  BYTEA NOT NULL, -- packed; nanoseconds since the result's start
    counters BYTEA NOT NULL, -- packed; the values
    PRIMARY KEY (result, position)
);

CREATE TABLE artifact_chunks (
    task    TEXT COLLATE "C" NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    attempt BIGINT NOT NULL,
    name    TEXT COLLATE "C" NOT NULL,
    start   BIGINT NOT NULL, -- offset in bytes
    size    BIGINT NOT NULL, -- bytes, unpacked
    content BYTEA NOT NULL, -- packed
    PRIMARY KEY (task, attempt, name, start)
);

CREATE TABLE events (
    id       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run      TEXT COLLATE "C" REFERENCES runs (id) ON DELETE CASCADE, -- NULL: of the fleet
    step     TEXT NOT NULL,
    task     TEXT NOT NULL,
    node     TEXT NOT NULL,
    kind     TEXT NOT NULL,
    severity TEXT NOT NULL,
    at       BIGINT,
    message  TEXT NOT NULL
);

CREATE INDEX events_run ON events (run);

-- The fleet: who may take part.
CREATE TABLE nodes (
    id         TEXT COLLATE "C" PRIMARY KEY,
    public_key TEXT NOT NULL,
    labels     TEXT NOT NULL, -- JSON
    facts      TEXT NOT NULL, -- JSON
    registered BIGINT
);

-- One row that Ping writes.
CREATE TABLE store_probe (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    at BIGINT
);

INSERT INTO store_probe (id) VALUES (1);
