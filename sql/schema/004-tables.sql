-- Dynamic tables: their definitions, how fresh they are, and who refreshes them. Tables of the lake are known by id and not
-- referred to: a table's row in the lake ends with a snapshot and stays, so it could not refuse anything.

CREATE TABLE dynamic_table_statuses (
  status  TEXT NOT NULL PRIMARY KEY
);

INSERT INTO dynamic_table_statuses (status) VALUES ('INITIALIZING'), ('ACTIVE'), ('SUSPENDED'), ('FAILED');

-- dynamic_table is the name as people write it: the name lock, and what subscribers know a row by.
-- data_snapshot: the contents are those of this snapshot of the sources; published_snapshot: they are in the lake since that one.
-- target_snapshot: what it is being brought to; NULL: nothing is to be done.
-- suspended_by: the table whose suspension this one only follows.
-- part_count: how many subtasks the refresh under way was split into; 0: it was not.
CREATE TABLE dynamic_tables (
  dynamic_table         TEXT    NOT NULL PRIMARY KEY CHECK (length(dynamic_table) > 0),
  table_id              BIGINT  NOT NULL UNIQUE,
  schema_name           TEXT    NOT NULL CHECK (length(schema_name) > 0),
  name                  TEXT    NOT NULL CHECK (length(name) > 0),
  definition            TEXT    NOT NULL CHECK (length(definition) > 0),
  target_lag_ms         BIGINT  CHECK (target_lag_ms > 0),
  mode_wish             TEXT    NOT NULL CHECK (mode_wish IN ('AUTO', 'FULL', 'INCREMENTAL')),
  mode                  TEXT    NOT NULL CHECK (mode IN ('FULL', 'INCREMENTAL')),
  mode_reason           TEXT    NOT NULL,
  is_volatile           INTEGER NOT NULL CHECK (is_volatile IN (0, 1)),
  status                TEXT    NOT NULL REFERENCES dynamic_table_statuses (status) ON DELETE RESTRICT ON UPDATE RESTRICT,
  status_reason         TEXT    NOT NULL,
  suspended_by          TEXT    CHECK (suspended_by IS NULL OR status = 'SUSPENDED'),
  wait_reason           TEXT    NOT NULL,
  data_snapshot         BIGINT,
  data_time_ms          BIGINT  CHECK ((data_time_ms IS NULL) = (data_snapshot IS NULL)),
  published_snapshot    BIGINT  CHECK ((published_snapshot IS NULL) = (data_snapshot IS NULL)),
  target_snapshot       BIGINT,
  requested_at_ms       BIGINT,
  late_since_ms         BIGINT,
  lag_missed_count      BIGINT  NOT NULL CHECK (lag_missed_count >= 0),
  failures_in_a_row     INTEGER NOT NULL CHECK (failures_in_a_row >= 0),
  last_error            TEXT,
  last_refresh_state    TEXT    CHECK (last_refresh_state IN ('SUCCEEDED', 'FAILED', 'CANCELLED')),
  last_refresh_action   TEXT    CHECK (last_refresh_action IN ('FULL', 'INCREMENTAL', 'NO_DATA')),
  last_refresh_at_ms    BIGINT,
  part_count            INTEGER NOT NULL CHECK (part_count >= 0),
  part_done_count       INTEGER NOT NULL CHECK (part_done_count BETWEEN 0 AND part_count),
  expected_duration_ms  BIGINT  NOT NULL CHECK (expected_duration_ms >= 0),
  created_at_ms         BIGINT  NOT NULL,
  UNIQUE (schema_name, name)
);

-- What a dynamic table reads. cursor_snapshot: the source's snapshot that its contents were made of; NULL: it has to be read whole.
CREATE TABLE dynamic_table_sources (
  table_id         BIGINT NOT NULL REFERENCES dynamic_tables (table_id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  source_table_id  BIGINT NOT NULL CHECK (source_table_id <> table_id),
  cursor_snapshot  BIGINT,
  PRIMARY KEY (table_id, source_table_id)
);

CREATE INDEX dynamic_table_sources_by_source ON dynamic_table_sources (source_table_id);

-- Where the contents for a snapshot of the sources are: read the table at `snapshot` to see it as of `data_snapshot`. The newest, and
-- those that a reader is still to be brought to.
CREATE TABLE dynamic_table_versions (
  table_id       BIGINT NOT NULL REFERENCES dynamic_tables (table_id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  data_snapshot  BIGINT NOT NULL,
  snapshot       BIGINT NOT NULL,
  PRIMARY KEY (table_id, data_snapshot)
);

-- One row for each table that has something to be done. With a target it waits for its sources (ready_at_ms NULL) or can be claimed;
-- without one it waits for the scheduler to choose it. Requests up to target_seq are satisfied by reaching the target, those up to
-- done_seq have been.
CREATE TABLE pending_refreshes (
  dynamic_table        TEXT    NOT NULL PRIMARY KEY REFERENCES dynamic_tables (dynamic_table) ON DELETE RESTRICT ON UPDATE RESTRICT,
  table_id             BIGINT  NOT NULL UNIQUE,
  next_refresh_due_ms  BIGINT  NOT NULL,
  priority             INTEGER NOT NULL,
  refresh_trigger      TEXT    NOT NULL CHECK (refresh_trigger IN ('SCHEDULED', 'MANUAL', 'INITIAL', 'DOWNSTREAM')),
  attempts             INTEGER NOT NULL CHECK (attempts >= 0),
  losses               INTEGER NOT NULL CHECK (losses >= 0),
  not_before_ms        BIGINT  NOT NULL,
  request_seq          BIGINT  NOT NULL CHECK (request_seq >= target_seq),
  target_seq           BIGINT  NOT NULL CHECK (target_seq >= done_seq),
  done_seq             BIGINT  NOT NULL CHECK (done_seq >= 0),
  target_snapshot      BIGINT,
  target_time_ms       BIGINT  CHECK ((target_time_ms IS NULL) = (target_snapshot IS NULL)),
  ready_at_ms          BIGINT  CHECK (ready_at_ms IS NULL OR target_snapshot IS NOT NULL)
);

-- Targets behind the one in pending_refreshes, to be reached in the order of their snapshots.
CREATE TABLE queued_refreshes (
  table_id             BIGINT  NOT NULL REFERENCES pending_refreshes (table_id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  target_snapshot      BIGINT  NOT NULL,
  target_time_ms       BIGINT  NOT NULL,
  next_refresh_due_ms  BIGINT  NOT NULL,
  priority             INTEGER NOT NULL,
  refresh_trigger      TEXT    NOT NULL CHECK (refresh_trigger IN ('SCHEDULED', 'MANUAL', 'INITIAL', 'DOWNSTREAM')),
  target_seq           BIGINT  NOT NULL,
  PRIMARY KEY (table_id, target_snapshot)
);

-- Who refreshes what. Only the holder of the row's token may extend it, give it back, or publish, and only before it expires.
CREATE TABLE refresh_claims (
  dynamic_table    TEXT    NOT NULL PRIMARY KEY REFERENCES pending_refreshes (dynamic_table) ON DELETE RESTRICT ON UPDATE RESTRICT,
  worker_id        TEXT    NOT NULL CHECK (length(worker_id) > 0),
  token            BIGINT  NOT NULL UNIQUE CHECK (token > 0),
  attempt          INTEGER NOT NULL CHECK (attempt > 0),
  claimed_at_ms    BIGINT  NOT NULL,
  heartbeat_at_ms  BIGINT  NOT NULL,
  expires_at_ms    BIGINT  NOT NULL
);

CREATE INDEX refresh_claims_by_worker ON refresh_claims (worker_id);

-- Parts of one refresh that several workers compute: each the rows of one bucket, as files that belong to nobody until the refresh is
-- published. They live and die with the claim of the refresh, `refresh_token`; `token` is the fence of whoever computes the part.
-- ability: what a worker must be able to do, so that all parts are cut alike. spec and result are the workers' own affair.
CREATE TABLE refresh_subtasks (
  refresh_token  BIGINT  NOT NULL REFERENCES refresh_claims (token) ON DELETE CASCADE ON UPDATE RESTRICT,
  part           INTEGER NOT NULL CHECK (part >= 0),
  ability        TEXT    NOT NULL,
  spec           TEXT    NOT NULL,
  state          TEXT    NOT NULL CHECK (state IN ('WAITING', 'CLAIMED', 'DONE', 'FAILED')),
  worker_id      TEXT    CHECK (worker_id IS NOT NULL OR state = 'WAITING'),
  token          BIGINT  UNIQUE CHECK ((token IS NULL) = (state = 'WAITING')),
  attempts       INTEGER NOT NULL CHECK (attempts >= 0),
  expires_at_ms  BIGINT  CHECK ((expires_at_ms IS NOT NULL) = (state = 'CLAIMED')),
  result         TEXT    CHECK ((result IS NOT NULL) = (state = 'DONE')),
  error_code     TEXT,
  error_message  TEXT    CHECK ((error_message IS NULL) = (error_code IS NULL)),
  PRIMARY KEY (refresh_token, part)
);

CREATE INDEX refresh_subtasks_by_worker ON refresh_subtasks (worker_id);

-- One row. A token is never given twice: the fence only grows.
CREATE TABLE refresh_fence (
  id     INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  fence  BIGINT  NOT NULL CHECK (fence >= 0)
);

INSERT INTO refresh_fence (id, fence) VALUES (1, 0);

-- The newest refreshes of each table. A run of refreshes that found nothing to do is one row, with how many they were.
-- reason: why it was done as it was. compute_ms, changed_rows and total_rows: what it cost, and of how many rows of its sources; AUTO
-- learns from them. part_count, worker_count: into how many parts it was split, and how many workers computed them.
CREATE TABLE refresh_history (
  dynamic_table    TEXT   NOT NULL,
  refresh_number   BIGINT NOT NULL CHECK (refresh_number > 0),
  table_id         BIGINT NOT NULL,
  token            BIGINT NOT NULL,
  state            TEXT   NOT NULL CHECK (state IN ('SUCCEEDED', 'FAILED', 'CANCELLED')),
  action           TEXT   CHECK (action IN ('FULL', 'INCREMENTAL', 'NO_DATA')),
  refresh_trigger  TEXT   NOT NULL,
  attempt          INTEGER NOT NULL,
  started_at_ms    BIGINT NOT NULL,
  ended_at_ms      BIGINT NOT NULL,
  source_snapshot  BIGINT,
  data_time_ms     BIGINT,
  snapshot         BIGINT,
  rows_inserted    BIGINT NOT NULL,
  rows_deleted     BIGINT NOT NULL,
  reason           TEXT   NOT NULL,
  compute_ms       BIGINT CHECK (compute_ms >= 0),
  changed_rows     BIGINT CHECK ((changed_rows IS NULL) = (compute_ms IS NULL)),
  total_rows       BIGINT CHECK ((total_rows IS NULL) = (compute_ms IS NULL)),
  part_count       INTEGER NOT NULL CHECK (part_count > 0),
  worker_count     INTEGER NOT NULL CHECK (worker_count > 0),
  worker_id        TEXT   NOT NULL,
  error_code       TEXT,
  error_message    TEXT   CHECK ((error_message IS NULL) = (error_code IS NULL)),
  repeats          BIGINT NOT NULL CHECK (repeats > 0),
  PRIMARY KEY (dynamic_table, refresh_number)
);

CREATE INDEX refresh_history_by_end ON refresh_history (ended_at_ms);
