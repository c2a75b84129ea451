-- A store as scalebench wrote it before migration 2, with storetest/testdata/version1.json in it.
PRAGMA application_id = 1396919362;
BEGIN TRANSACTION;
CREATE TABLE artifact_chunks (
    task    TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    attempt INTEGER NOT NULL,
    name    TEXT NOT NULL,
    start   INTEGER NOT NULL, -- offset in bytes
    size    INTEGER NOT NULL, -- bytes, unpacked
    content BLOB NOT NULL, -- packed
    PRIMARY KEY (task, attempt, name, start)
) STRICT;
INSERT INTO "artifact_chunks" VALUES('01JAVA00000000000000000001/0000/0000',1,'stderr',0,5,X'0077686F6C65');
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
INSERT INTO "events" VALUES(1,'01JAVA00000000000000000001','','','','retry','warning',1927861506123456789,'again');
CREATE TABLE nodes (
    id         TEXT PRIMARY KEY,
    public_key TEXT NOT NULL,
    labels     TEXT NOT NULL, -- JSON
    facts      TEXT NOT NULL, -- JSON
    registered INTEGER
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
INSERT INTO "outputs" VALUES(1,'stdout',12,0,'',0,X'0073636F72652031372E32350A');
INSERT INTO "outputs" VALUES(1,'stderr',1099511627776,1,'stderr',1,X'006865616420E280A6207461696C');
INSERT INTO "outputs" VALUES(2,'stdout',12,0,'',0,X'0073636F72652031372E32350A');
INSERT INTO "outputs" VALUES(2,'stderr',1099511627776,1,'stderr',1,X'006865616420E280A6207461696C');
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
INSERT INTO "results" VALUES(1,'01JAVA00000000000000000001/0000/0000',1,'ok','',1927857906123456789,1927857966123456790,-1234567,89,0);
INSERT INTO "results" VALUES(2,'01JAVA00000000000000000001/0000/0001',1,'ok','',1927857906123456789,1927857966123456790,-1234567,89,1);
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
INSERT INTO "run_nodes" VALUES('01JAVA00000000000000000001',0,'node-0.example:8000','UKEY0','{"rack":"0","weird key":"a=b, \"c\" \u003c\u0026\u003e \u2028"}','{"hostname":"node-0","addresses":["192.0.2.1","2001:db8::1"],"os":"Debian GNU/Linux 12 (bookworm)","kernel":"6.1.0","arch":"amd64","cpu_model":"Some CPU @ 2.40GHz","cores":2,"cpu_limit":1.5,"microcode":"0x5003604","hypervisor":"kvm","memory":9007199254740993,"mem_limit":1073741824,"disks":[{"name":"vda","size":4611686018427387905,"model":"QEMU","rotational":true}],"cloud":{"provider":"aws","instance_type":"m5.large","zone":"eu-west-1a","instance_id":"i-1"},"agent":"v0.1.0"}',1927857906123456789);
INSERT INTO "run_nodes" VALUES('01JAVA00000000000000000001',1,'node-1.example:8000','UKEY1','{"rack":"1","weird key":"a=b, \"c\" \u003c\u0026\u003e \u2028"}','{"hostname":"node-1","addresses":["192.0.2.1","2001:db8::1"],"os":"Debian GNU/Linux 12 (bookworm)","kernel":"6.1.0","arch":"amd64","cpu_model":"Some CPU @ 2.40GHz","cores":2,"cpu_limit":1.5,"microcode":"0x5003604","hypervisor":"kvm","memory":9007199254740993,"mem_limit":1073741824,"disks":[{"name":"vda","size":4611686018427387905,"model":"QEMU","rotational":true}],"cloud":{"provider":"aws","instance_type":"m5.large","zone":"eu-west-1a","instance_id":"i-1"},"agent":"v0.1.0"}',1927857906123456790);
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
INSERT INTO "runs" VALUES('01JAVA00000000000000000001','resources of four clouds','experiment','pending','','clouds.yaml','name: resources
workloads:
  - kind: cpu # ünïcode
',-9223372036854775808,'v0.1.0','NSERVER',1927861506123456789,NULL,NULL);
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
INSERT INTO "samples" VALUES(1,0,'metric0','op/s',0.0,'higher','{"copies":"0"}');
INSERT INTO "samples" VALUES(1,1,'metric1','op/s',0.1,'higher','{"copies":"1"}');
INSERT INTO "samples" VALUES(1,2,'metric2','op/s',0.2,'higher','{"copies":"2"}');
INSERT INTO "samples" VALUES(1,3,'latency','ns',12.0,'lower','null');
INSERT INTO "samples" VALUES(2,0,'metric0','op/s',1.0,'higher','{"copies":"0"}');
INSERT INTO "samples" VALUES(2,1,'metric1','op/s',1.1,'higher','{"copies":"1"}');
INSERT INTO "samples" VALUES(2,2,'metric2','op/s',1.2,'higher','{"copies":"2"}');
INSERT INTO "samples" VALUES(2,3,'latency','ns',12.0,'lower','null');
CREATE TABLE scalebench_schema (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO "scalebench_schema" VALUES(1,0,1,'2026-11-21 12:03:12');
INSERT INTO "scalebench_schema" VALUES(2,1,1,'2026-11-21 12:03:12');
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
INSERT INTO "series" VALUES(1,0,'throughput','op',5,X'000105E09AD0B907FE8807BCF701BCF70183A30A',X'000205D5AAD5AAD58A968A418080808080808018D5AAD5AAD59AB705D5AAD5AAD59AB70DFFFFFFFFFFC7CD06');
INSERT INTO "series" VALUES(1,1,'written','byte',5,X'000105E09AD0B907FE8807BCF701BCF70183A30A',X'000105804000000000');
INSERT INTO "series" VALUES(2,0,'throughput','op',5,X'000105E09AD0B907FE8807BCF701BCF70183A30A',X'000205D5AAD5AAD58A968A418080808080808018D5AAD5AAD59AB705D5AAD5AAD59AB70DFFFFFFFFFFC7CD06');
INSERT INTO "series" VALUES(2,1,'written','byte',5,X'000105E09AD0B907FE8807BCF701BCF70183A30A',X'000105804000000000');
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
INSERT INTO "steps" VALUES('01JAVA00000000000000000001/0000','01JAVA00000000000000000001',0,'parallel','cpu',1,1,'running',1,NULL,'');
CREATE TABLE store_probe (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    at INTEGER
) STRICT;
INSERT INTO "store_probe" VALUES(1,NULL);
CREATE TABLE tasks (
    id       TEXT PRIMARY KEY,
    step     TEXT NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    node     TEXT NOT NULL,
    spec     TEXT NOT NULL, -- JSON
    UNIQUE (step, position)
) STRICT;
INSERT INTO "tasks" VALUES('01JAVA00000000000000000001/0000/0000','01JAVA00000000000000000001/0000',0,'node-0.example:8000','{"workload":"cpu","kind":"command","params":{"command":"cd /tmp \u0026\u0026 ls * | wc -l","huge":1e+300,"list":[1,"two",{"three":3}],"none":null,"on":true,"ratio":0.1,"threads":2,"tiny":5e-324},"timeout":90000000001,"output_limit":65536,"artifact_limit":1099511627776}');
INSERT INTO "tasks" VALUES('01JAVA00000000000000000001/0000/0001','01JAVA00000000000000000001/0000',1,'node-1.example:8000','{"workload":"cpu","kind":"command","params":{"command":"cd /tmp \u0026\u0026 ls * | wc -l","huge":1e+300,"list":[1,"two",{"three":3}],"none":null,"on":true,"ratio":0.1,"threads":2,"tiny":5e-324},"timeout":90000000001,"output_limit":65536,"artifact_limit":1099511627776}');
CREATE INDEX events_run ON events (run);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('scalebench_schema',2);
COMMIT;
