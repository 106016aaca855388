-- The catalog of continuous queries: where rows come from and go to, which queries there shall be, and what runs where.
-- What changes all the time (plans, history, progress of deployments) is in tables that nobody watches, because the change log holds whole rows.

-- What a source or a sink may be. Descriptors in the program say what each can be told.
CREATE TABLE source_types (type TEXT NOT NULL PRIMARY KEY);
INSERT INTO source_types (type) VALUES ('FILE'), ('TCP'), ('HTTP'), ('GENERATOR'), ('LAKE');

CREATE TABLE sink_types (type TEXT NOT NULL PRIMARY KEY);
INSERT INTO sink_types (type) VALUES ('FILE'), ('PRINT'), ('VOID'), ('CHECKSUM'), ('TCP'), ('LAKE');

-- The states, and the legal transitions. A row of a query or fragment has the state before its last change beside its state, and the pair refers to these
-- tables, so that no statement can make an illegal change. NONE is before the row was there.
CREATE TABLE query_states (state TEXT NOT NULL PRIMARY KEY);
INSERT INTO query_states (state) VALUES
  ('PENDING'), ('DEPLOYING'), ('RUNNING'), ('PAUSED'), ('STOPPING'), ('STOPPED'), ('TERMINATING'), ('TERMINATED'), ('FAILED');

CREATE TABLE query_transitions (
  from_state  TEXT NOT NULL CHECK (length(from_state) > 0),
  to_state    TEXT NOT NULL REFERENCES query_states (state) ON DELETE RESTRICT ON UPDATE RESTRICT,
  PRIMARY KEY (from_state, to_state)
);
INSERT INTO query_transitions (from_state, to_state) VALUES
  ('NONE', 'PENDING'),
  ('PENDING', 'DEPLOYING'), ('PENDING', 'STOPPING'), ('PENDING', 'TERMINATING'),
  ('DEPLOYING', 'RUNNING'), ('DEPLOYING', 'STOPPING'), ('DEPLOYING', 'TERMINATING'),
  ('RUNNING', 'DEPLOYING'), ('RUNNING', 'STOPPING'), ('RUNNING', 'TERMINATING'), ('RUNNING', 'TERMINATED'),
  ('PAUSED', 'PENDING'), ('PAUSED', 'STOPPING'),
  ('STOPPING', 'STOPPED'), ('STOPPING', 'PAUSED'),
  ('TERMINATING', 'FAILED'), ('TERMINATING', 'STOPPING'),
  ('TERMINATED', 'STOPPING'),
  ('FAILED', 'STOPPING');

CREATE TABLE query_fragment_states (state TEXT NOT NULL PRIMARY KEY);
INSERT INTO query_fragment_states (state) VALUES
  ('PENDING'), ('REGISTERED'), ('STARTED'), ('RUNNING'), ('STOPPED'), ('TERMINATED'), ('FAILED');

-- A fragment goes back to PENDING when its query is deployed again under a new epoch.
CREATE TABLE query_fragment_transitions (
  from_state  TEXT NOT NULL CHECK (length(from_state) > 0),
  to_state    TEXT NOT NULL REFERENCES query_fragment_states (state) ON DELETE RESTRICT ON UPDATE RESTRICT,
  PRIMARY KEY (from_state, to_state)
);
INSERT INTO query_fragment_transitions (from_state, to_state) VALUES
  ('NONE', 'PENDING'),
  ('PENDING', 'REGISTERED'), ('PENDING', 'STARTED'), ('PENDING', 'RUNNING'), ('PENDING', 'STOPPED'), ('PENDING', 'TERMINATED'), ('PENDING', 'FAILED'),
  ('REGISTERED', 'STARTED'), ('REGISTERED', 'RUNNING'), ('REGISTERED', 'STOPPED'), ('REGISTERED', 'TERMINATED'), ('REGISTERED', 'FAILED'),
  ('STARTED', 'RUNNING'), ('STARTED', 'STOPPED'), ('STARTED', 'TERMINATED'), ('STARTED', 'FAILED'),
  ('RUNNING', 'STOPPED'), ('RUNNING', 'TERMINATED'), ('RUNNING', 'FAILED'),
  ('REGISTERED', 'PENDING'), ('STARTED', 'PENDING'), ('RUNNING', 'PENDING'), ('STOPPED', 'PENDING'), ('TERMINATED', 'PENDING'), ('FAILED', 'PENDING');

-- One row. `version` increases by one with every change of a definition, so that a plan knows whether what it was made from still holds. Ids are given
-- from `last_id` and never twice.
CREATE TABLE stream_catalog (
  id       INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  version  BIGINT  NOT NULL,
  last_id  BIGINT  NOT NULL
);
INSERT INTO stream_catalog (id, version, last_id) VALUES (1, 0, 0);

-- What streams know of a worker. A worker without a row has the default number of slots, none of them used.
CREATE TABLE stream_workers (
  worker_id   TEXT    NOT NULL PRIMARY KEY REFERENCES workers (worker_id) ON DELETE CASCADE ON UPDATE RESTRICT,
  -- The name that CREATE WORKER gave it; NULL: its own.
  label       TEXT    UNIQUE,
  -- How many fragments it may run, and how many fragments hold one of these slots.
  slots       INTEGER NOT NULL CHECK (slots >= 0),
  slots_used  INTEGER NOT NULL,
  CHECK (slots_used BETWEEN 0 AND slots)
);

-- Who may send to whom. A worker without a link reaches every worker and is reached by all.
CREATE TABLE network_links (
  src_worker_id  TEXT NOT NULL REFERENCES workers (worker_id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  dst_worker_id  TEXT NOT NULL REFERENCES workers (worker_id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  PRIMARY KEY (src_worker_id, dst_worker_id),
  CHECK (src_worker_id <> dst_worker_id)
);

-- Logical sources, sources that a query makes, and views: whatever can stand behind FROM. They share their names.
CREATE TABLE logical_sources (
  source_id      TEXT   NOT NULL PRIMARY KEY CHECK (length(source_id) BETWEEN 1 AND 32),
  -- In the spelling of the declaration; names compare by name_key, in capital letters.
  name           TEXT   NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
  name_key       TEXT   NOT NULL,
  kind           TEXT   NOT NULL CHECK (kind IN ('LOGICAL', 'DERIVED', 'VIEW')),
  -- The columns, as JSON.
  source_schema  TEXT   NOT NULL,
  -- {"column":N,"boundMs":N} of WATERMARK(…), or NULL.
  watermark      TEXT,
  -- The query of a derived source or a view, as text.
  definition     TEXT   CHECK ((kind = 'LOGICAL') = (definition IS NULL)),
  -- The row that a bundle put in the place of this one, which stays until the queries that use it are gone.
  superseded_by  TEXT   REFERENCES logical_sources (source_id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  created_at_ms  BIGINT NOT NULL
);
CREATE UNIQUE INDEX logical_sources_by_name ON logical_sources (name_key) WHERE superseded_by IS NULL;

-- Which sources and views the definition of another one names.
CREATE TABLE logical_source_uses (
  source_id       TEXT NOT NULL REFERENCES logical_sources (source_id) ON DELETE CASCADE ON UPDATE RESTRICT,
  used_source_id  TEXT NOT NULL REFERENCES logical_sources (source_id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  PRIMARY KEY (source_id, used_source_id)
);

CREATE TABLE physical_sources (
  physical_source_id  TEXT   NOT NULL PRIMARY KEY CHECK (length(physical_source_id) BETWEEN 1 AND 32),
  source_id           TEXT   NOT NULL REFERENCES logical_sources (source_id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  -- Where it is read; NULL: on any worker.
  worker_id           TEXT   REFERENCES workers (worker_id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  source_type         TEXT   NOT NULL REFERENCES source_types (type) ON DELETE RESTRICT ON UPDATE RESTRICT,
  source_config       TEXT   NOT NULL,
  parser_config       TEXT   NOT NULL,
  -- All of the above as one text: no two sources are the same.
  description_key     TEXT   NOT NULL,
  superseded_by       TEXT   REFERENCES physical_sources (physical_source_id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  created_at_ms       BIGINT NOT NULL
);
CREATE UNIQUE INDEX physical_sources_by_description ON physical_sources (description_key) WHERE superseded_by IS NULL;
CREATE INDEX physical_sources_of_source ON physical_sources (source_id);

CREATE TABLE sinks (
  sink_id           TEXT   NOT NULL PRIMARY KEY CHECK (length(sink_id) BETWEEN 1 AND 32),
  name              TEXT   NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
  name_key          TEXT   NOT NULL,
  -- NULL: the sink takes whatever a query gives.
  sink_schema       TEXT,
  worker_id         TEXT   REFERENCES workers (worker_id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  sink_type         TEXT   NOT NULL REFERENCES sink_types (type) ON DELETE RESTRICT ON UPDATE RESTRICT,
  sink_config       TEXT   NOT NULL,
  formatter_config  TEXT   NOT NULL,
  superseded_by     TEXT   REFERENCES sinks (sink_id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  created_at_ms     BIGINT NOT NULL
);
CREATE UNIQUE INDEX sinks_by_name ON sinks (name_key) WHERE superseded_by IS NULL;

-- The row is the name's lock: the name is free when the row is gone.
CREATE TABLE queries (
  query_id             TEXT    NOT NULL PRIMARY KEY CHECK (length(query_id) BETWEEN 1 AND 32),
  -- NULL: the query was given no name.
  name                 TEXT    CHECK (length(name) BETWEEN 1 AND 255),
  name_key             TEXT    CHECK ((name IS NULL) = (name_key IS NULL)),
  state                TEXT    NOT NULL,
  previous_state       TEXT    NOT NULL,
  desired_state        TEXT    NOT NULL CHECK (desired_state IN ('RUNNING', 'PAUSED', 'STOPPED')),
  stop_mode            TEXT    CHECK (stop_mode IN ('SOFT', 'HARD')),
  -- Increases with each deployment; what an older one still does concerns nobody.
  epoch                BIGINT  NOT NULL CHECK (epoch >= 0),
  -- Why it is in this state, for people.
  state_reason         TEXT    NOT NULL,
  error_code           TEXT,
  error_number         INTEGER,
  error_worker_id      TEXT,
  guarantee            TEXT    NOT NULL,
  -- Failures of fragments in a row, without a complete checkpoint between them.
  failures_in_a_row    INTEGER NOT NULL CHECK (failures_in_a_row >= 0),
  superseded_by        TEXT    REFERENCES queries (query_id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  created_at_ms        BIGINT  NOT NULL,
  state_changed_at_ms  BIGINT  NOT NULL,
  CHECK ((desired_state = 'STOPPED') = (stop_mode IS NOT NULL)),
  FOREIGN KEY (previous_state, state) REFERENCES query_transitions (from_state, to_state) ON DELETE RESTRICT ON UPDATE RESTRICT
);
CREATE UNIQUE INDEX queries_by_name ON queries (name_key) WHERE superseded_by IS NULL;

-- The statement as it was written, and the plan, cut into fragments, as JSON.
CREATE TABLE query_plans (
  query_id      TEXT    NOT NULL PRIMARY KEY REFERENCES queries (query_id) ON DELETE CASCADE ON UPDATE RESTRICT,
  statement     TEXT    NOT NULL,
  plan_version  INTEGER NOT NULL,
  plan          TEXT    NOT NULL
);

CREATE TABLE query_fragments (
  -- The query's id, a slash and the fragment's name.
  fragment_id          TEXT    NOT NULL PRIMARY KEY,
  query_id             TEXT    NOT NULL REFERENCES queries (query_id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  fragment             TEXT    NOT NULL,
  worker_id            TEXT    NOT NULL REFERENCES workers (worker_id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  -- 1: the worker is named by a source or sink of the fragment, so it never moves.
  is_pinned            INTEGER NOT NULL CHECK (is_pinned IN (0, 1)),
  epoch                BIGINT  NOT NULL CHECK (epoch > 0),
  state                TEXT    NOT NULL,
  previous_state       TEXT    NOT NULL,
  state_reason         TEXT    NOT NULL,
  -- 1: it holds one of the worker's slots.
  holds_slot           INTEGER NOT NULL CHECK (holds_slot IN (0, 1)),
  state_changed_at_ms  BIGINT  NOT NULL,
  FOREIGN KEY (previous_state, state) REFERENCES query_fragment_transitions (from_state, to_state) ON DELETE RESTRICT ON UPDATE RESTRICT,
  CHECK (holds_slot = 0 OR state IN ('PENDING', 'REGISTERED', 'STARTED', 'RUNNING'))
);
CREATE INDEX query_fragments_of_query ON query_fragments (query_id);
CREATE INDEX query_fragments_on_worker ON query_fragments (worker_id);

-- Fragments of an older epoch that may still run on a worker which could not be asked. The query's row, and so its name, stays until they are gone.
CREATE TABLE query_cleanups (
  query_id   TEXT   NOT NULL REFERENCES queries (query_id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  worker_id  TEXT   NOT NULL REFERENCES workers (worker_id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  -- Everything of this epoch and of older ones.
  epoch      BIGINT NOT NULL,
  PRIMARY KEY (query_id, worker_id)
);

-- What a query refers to. The references go with the query's row; what they refer to cannot go before it.
CREATE TABLE query_logical_sources (
  query_id   TEXT NOT NULL REFERENCES queries (query_id) ON DELETE CASCADE ON UPDATE RESTRICT,
  source_id  TEXT NOT NULL REFERENCES logical_sources (source_id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  PRIMARY KEY (query_id, source_id)
);
CREATE TABLE query_physical_sources (
  query_id            TEXT NOT NULL REFERENCES queries (query_id) ON DELETE CASCADE ON UPDATE RESTRICT,
  physical_source_id  TEXT NOT NULL REFERENCES physical_sources (physical_source_id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  PRIMARY KEY (query_id, physical_source_id)
);
CREATE TABLE query_sinks (
  query_id  TEXT NOT NULL REFERENCES queries (query_id) ON DELETE CASCADE ON UPDATE RESTRICT,
  sink_id   TEXT NOT NULL REFERENCES sinks (sink_id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  PRIMARY KEY (query_id, sink_id)
);
-- Tables of the lake, by their ids, which a drop asks for.
CREATE TABLE query_lake_tables (
  query_id  TEXT    NOT NULL REFERENCES queries (query_id) ON DELETE CASCADE ON UPDATE RESTRICT,
  table_id  BIGINT  NOT NULL,
  writes    INTEGER NOT NULL CHECK (writes IN (0, 1)),
  PRIMARY KEY (query_id, table_id, writes)
);

-- How long a deployment has been under way while all its workers could be reached.
CREATE TABLE query_deployments (
  query_id      TEXT   NOT NULL PRIMARY KEY REFERENCES queries (query_id) ON DELETE CASCADE ON UPDATE RESTRICT,
  epoch         BIGINT NOT NULL,
  reachable_ms  BIGINT NOT NULL CHECK (reachable_ms >= 0)
);

-- State changes of queries, the newest ones, also of queries that were dropped.
CREATE TABLE query_history (
  query_id    TEXT   NOT NULL,
  number      BIGINT NOT NULL,
  query_name  TEXT,
  epoch       BIGINT NOT NULL,
  from_state  TEXT   NOT NULL,
  -- NULL: the row was removed.
  to_state    TEXT,
  reason      TEXT   NOT NULL,
  at_ms       BIGINT NOT NULL,
  PRIMARY KEY (query_id, number)
);
CREATE INDEX query_history_by_time ON query_history (at_ms);

-- Answers of requests that were given an id, so that one that is repeated gets its first answer.
CREATE TABLE stream_requests (
  request_id  TEXT   NOT NULL PRIMARY KEY CHECK (length(request_id) BETWEEN 1 AND 100),
  answer      TEXT   NOT NULL,
  at_ms       BIGINT NOT NULL
);
