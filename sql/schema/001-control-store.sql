-- The control store. This text runs unchanged on SQLite and on Postgres: TEXT, INTEGER and BIGINT only,
-- flags are 0 or 1, times are milliseconds since 1970 by now_ms(), which both databases know before it runs.
-- A table referred to refuses to lose the row (RESTRICT): nothing is ever deleted as a side effect.

-- One row per migration that was applied.
CREATE TABLE schema_version (
  version        INTEGER NOT NULL PRIMARY KEY CHECK (version > 0),
  applied_at_ms  BIGINT  NOT NULL
);

CREATE TABLE worker_states (
  state  TEXT NOT NULL PRIMARY KEY
);

INSERT INTO worker_states (state) VALUES ('ACTIVE'), ('UNREACHABLE');

-- The primary key is the name lock: two workers cannot have one name.
CREATE TABLE workers (
  worker_id            TEXT    NOT NULL PRIMARY KEY CHECK (length(worker_id) BETWEEN 1 AND 63),
  host_name            TEXT    NOT NULL CHECK (length(host_name) BETWEEN 1 AND 255),
  grpc_port            INTEGER NOT NULL CHECK (grpc_port BETWEEN 1 AND 65535),
  data_port            INTEGER NOT NULL CHECK (data_port BETWEEN 1 AND 65535),
  capacity             INTEGER NOT NULL CHECK (capacity >= 0),
  state                TEXT    NOT NULL REFERENCES worker_states (state) ON DELETE RESTRICT ON UPDATE RESTRICT,
  state_reason         TEXT    NOT NULL,
  state_changed_at_ms  BIGINT  NOT NULL,
  drain_requested      INTEGER NOT NULL CHECK (drain_requested IN (0, 1)),
  accepting_work       INTEGER NOT NULL CHECK (accepting_work IN (0, 1)),
  draining             INTEGER NOT NULL CHECK (draining IN (0, 1)),
  incarnation          TEXT    NOT NULL,
  software_version     TEXT    NOT NULL,
  registered_at_ms     BIGINT  NOT NULL
);

-- An epoch is never given twice: it grows with every grant, and a row is never deleted.
CREATE TABLE coordinator_leases (
  name           TEXT   NOT NULL PRIMARY KEY CHECK (length(name) > 0),
  holder         TEXT   NOT NULL CHECK (length(holder) > 0),
  epoch          BIGINT NOT NULL CHECK (epoch > 0),
  expires_at_ms  BIGINT NOT NULL,
  api_url        TEXT   NOT NULL
);

-- The change log. Rows are JSON objects with the table's columns; only an UPDATE has the row before it.
CREATE TABLE catalog_changes (
  revision         BIGINT NOT NULL PRIMARY KEY CHECK (revision > 0),
  table_name       TEXT   NOT NULL,
  row_key          TEXT   NOT NULL,
  op               TEXT   NOT NULL CHECK (op IN ('CREATE', 'UPDATE', 'DROP')),
  row_json         TEXT   NOT NULL,
  old_row_json     TEXT   CHECK ((op = 'UPDATE') = (old_row_json IS NOT NULL)),
  committed_at_ms  BIGINT NOT NULL
);

-- One row. Changes up to and including trimmed_revision are no longer in the log.
CREATE TABLE catalog_revision (
  id                INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  revision          BIGINT  NOT NULL,
  trimmed_revision  BIGINT  NOT NULL CHECK (trimmed_revision BETWEEN 0 AND revision)
);

INSERT INTO catalog_revision (id, revision, trimmed_revision) VALUES (1, 0, 0);
