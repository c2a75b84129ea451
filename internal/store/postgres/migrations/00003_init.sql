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
    asked       TEXT NOT NULL DEFAULT '{}', -- JSON: the question of the file, decoded
    seed        BIGINT NOT NULL,
    version     TEXT NOT NULL,
    server      TEXT NOT NULL,
    created     BIGINT,
    started     BIGINT,
    finished    BIGINT,
    campaign    TEXT COLLATE "C" NOT NULL DEFAULT '', -- empty: a run of its own
    repetition  BIGINT NOT NULL DEFAULT 0
);

-- Lists of runs, newest first, however many there are.
CREATE INDEX runs_newest ON runs (COALESCE(created, 0), id);
CREATE INDEX runs_campaign ON runs (campaign, COALESCE(created, 0), id);

-- The nodes of a run as they were when it began, in the order of position.
CREATE TABLE run_nodes (
    run        TEXT COLLATE "C" NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    position   BIGINT NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    public_key TEXT NOT NULL,
    labels     TEXT NOT NULL, -- JSON
    facts      TEXT NOT NULL, -- JSON
    registered BIGINT,
    -- JSON: how often the fleet was asked for the node, and how long it took.
    startups   TEXT NOT NULL DEFAULT 'null',
    PRIMARY KEY (run, id)
);

CREATE TABLE steps (
    id        TEXT COLLATE "C" PRIMARY KEY,
    run       TEXT COLLATE "C" NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    number    BIGINT NOT NULL,
    phase     TEXT NOT NULL,
    workload  TEXT NOT NULL,
    trial     BIGINT NOT NULL,
    barrier   BOOLEAN NOT NULL,
    state     TEXT NOT NULL,
    attempt   BIGINT NOT NULL,
    start_at  BIGINT,
    reason    TEXT NOT NULL,
    treatment TEXT NOT NULL DEFAULT '{}', -- JSON: what the design of a study says of it
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

-- A result is a row of index columns with one packed body, and a row of points
-- for each metric.
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

CREATE TABLE artifact_chunks (
    task    TEXT COLLATE "C" NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    attempt BIGINT NOT NULL,
    name    TEXT COLLATE "C" NOT NULL,
    start   BIGINT NOT NULL, -- offset in bytes
    size    BIGINT NOT NULL, -- bytes, unpacked
    content BYTEA NOT NULL, -- packed
    PRIMARY KEY (task, attempt, name, start)
);

-- The queues of steps: names of items, and what became of each item. An item has at
-- most one record that counts. An empty name stands after the last item.
CREATE TABLE job_items (
    step     TEXT COLLATE "C" NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    name     TEXT NOT NULL,
    PRIMARY KEY (step, position)
);

CREATE TABLE jobs (
    step    TEXT COLLATE "C" NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
    item    TEXT COLLATE "C" NOT NULL, -- its key
    attempt BIGINT NOT NULL,
    node    TEXT NOT NULL,
    outcome TEXT NOT NULL,
    packed  BYTEA NOT NULL,
    PRIMARY KEY (step, item)
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
    registered BIGINT,
    left_at    BIGINT -- when its agent said goodbye; NULL since it said hello again
);

-- Campaigns: experiments that are repeated on a schedule. A repetition is a run,
-- or a time of the schedule at which there was none.
CREATE TABLE campaigns (
    id          TEXT COLLATE "C" PRIMARY KEY,
    name        TEXT NOT NULL,
    state       TEXT NOT NULL,
    reason      TEXT NOT NULL,
    source_name TEXT NOT NULL,
    source      TEXT NOT NULL, -- the experiment file with its schedule
    asked       TEXT NOT NULL DEFAULT '{}', -- JSON: the question of the file, decoded
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

-- The servers that share the store, and when each was last alive, by the clock of
-- the database: those of their machines may differ.
CREATE TABLE servers (
    id   TEXT COLLATE "C" PRIMARY KEY,
    seen BIGINT NOT NULL
);

-- One row that Ping writes.
CREATE TABLE store_probe (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    at BIGINT
);

INSERT INTO store_probe (id) VALUES (1);
