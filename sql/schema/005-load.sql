-- Load tests: templates, runs, what the orchestrator tells workers, and what they measured. Names are the specification's. Times are
-- milliseconds by the store's clock. JSON is text: nothing in the store looks into it. Records of single queries are in the lake.

CREATE TABLE test_templates (
  template_id    TEXT   NOT NULL PRIMARY KEY CHECK (length(template_id) > 0),
  template_name  TEXT   NOT NULL UNIQUE CHECK (length(template_name) > 0),
  description    TEXT   NOT NULL,
  config         TEXT   NOT NULL,
  is_built_in    INTEGER NOT NULL CHECK (is_built_in IN (0, 1)),
  created_at_ms  BIGINT NOT NULL,
  updated_at_ms  BIGINT NOT NULL
);

-- Values that a template's parameters are chosen from, where they are too many for its configuration.
CREATE TABLE template_value_pools (
  template_id  TEXT   NOT NULL REFERENCES test_templates (template_id) ON DELETE CASCADE ON UPDATE RESTRICT,
  pool         TEXT   NOT NULL CHECK (length(pool) > 0),
  chunk        BIGINT NOT NULL CHECK (chunk >= 0),
  pool_values  TEXT   NOT NULL,
  PRIMARY KEY (template_id, pool, chunk)
);

-- One row for each parent run. target_secret is sealed with the cluster's token; nobody shows it.
CREATE TABLE run_status (
  run_id                  TEXT    NOT NULL PRIMARY KEY CHECK (length(run_id) > 0),
  test_id                 TEXT    NOT NULL UNIQUE CHECK (test_id = run_id),
  template_id             TEXT,
  test_name               TEXT    NOT NULL,
  scenario_config         TEXT    NOT NULL,
  target_secret           TEXT,
  status                  TEXT    NOT NULL CHECK (status IN ('PREPARED', 'RUNNING', 'STOPPING', 'CANCELLING', 'COMPLETED', 'FAILED', 'CANCELLED')),
  phase                   TEXT    NOT NULL CHECK (phase IN ('', 'PREPARING', 'WARMUP', 'MEASUREMENT', 'COOLDOWN', 'PROCESSING')),
  start_time_ms           BIGINT,
  warmup_start_time_ms    BIGINT,
  warmup_end_time_ms      BIGINT,
  stop_time_ms            BIGINT,
  end_time_ms             BIGINT,
  total_workers_expected  INTEGER NOT NULL CHECK (total_workers_expected >= 0),
  workers_registered      INTEGER NOT NULL CHECK (workers_registered >= 0),
  workers_active          INTEGER NOT NULL CHECK (workers_active >= 0),
  workers_completed       INTEGER NOT NULL CHECK (workers_completed >= 0),
  total_ops               BIGINT  NOT NULL CHECK (total_ops >= 0),
  error_count             BIGINT  NOT NULL CHECK (error_count >= 0),
  current_qps             DOUBLE PRECISION NOT NULL,
  worker_targets          TEXT    NOT NULL,
  next_sequence_id        BIGINT  NOT NULL CHECK (next_sequence_id > 0),
  next_log_sequence       BIGINT  NOT NULL CHECK (next_log_sequence > 0),
  find_max_state          TEXT,
  guardrail_state         TEXT,
  stop_reason             TEXT,
  cancellation_reason     TEXT,
  created_at_ms           BIGINT  NOT NULL,
  updated_at_ms           BIGINT  NOT NULL
);

CREATE INDEX run_status_by_status ON run_status (status);

CREATE TABLE run_control_events (
  event_id       TEXT   NOT NULL PRIMARY KEY,
  run_id         TEXT   NOT NULL REFERENCES run_status (run_id) ON DELETE CASCADE ON UPDATE RESTRICT,
  event_type     TEXT   NOT NULL CHECK (event_type IN ('START', 'STOP', 'SET_PHASE', 'SET_WORKER_TARGET')),
  event_data     TEXT   NOT NULL,
  sequence_id    BIGINT NOT NULL CHECK (sequence_id > 0),
  created_at_ms  BIGINT NOT NULL,
  UNIQUE (run_id, sequence_id)
);

-- incarnation: which process of that name; a heartbeat of another one is refused.
CREATE TABLE worker_heartbeats (
  run_id              TEXT    NOT NULL REFERENCES run_status (run_id) ON DELETE CASCADE ON UPDATE RESTRICT,
  worker_id           TEXT    NOT NULL CHECK (length(worker_id) > 0),
  worker_group_id     INTEGER NOT NULL CHECK (worker_group_id >= 0),
  test_id             TEXT    NOT NULL,
  incarnation         TEXT    NOT NULL,
  host_name           TEXT    NOT NULL,
  process_id          BIGINT  NOT NULL,
  status              TEXT    NOT NULL CHECK (status IN ('STARTING', 'READY', 'RUNNING', 'DRAINING', 'COMPLETED', 'FAILED', 'DEAD')),
  phase               TEXT    NOT NULL,
  last_sequence_id    BIGINT  NOT NULL,
  target_connections  INTEGER NOT NULL,
  active_connections  INTEGER NOT NULL,
  started_at_ms       BIGINT  NOT NULL,
  last_heartbeat_ms   BIGINT  NOT NULL,
  last_error          TEXT,
  PRIMARY KEY (run_id, worker_id)
);

-- One row a second and worker; `custom_metrics` has the generator's health.
CREATE TABLE worker_metrics_snapshots (
  run_id              TEXT    NOT NULL REFERENCES run_status (run_id) ON DELETE CASCADE ON UPDATE RESTRICT,
  worker_id           TEXT    NOT NULL,
  sequence            BIGINT  NOT NULL,
  test_id             TEXT    NOT NULL,
  worker_group_id     INTEGER NOT NULL,
  timestamp_ms        BIGINT  NOT NULL,
  elapsed_seconds     DOUBLE PRECISION NOT NULL,
  phase               TEXT    NOT NULL,
  step_number         INTEGER NOT NULL,
  total_queries       BIGINT  NOT NULL,
  qps                 DOUBLE PRECISION NOT NULL,
  read_count          BIGINT  NOT NULL,
  write_count         BIGINT  NOT NULL,
  error_count         BIGINT  NOT NULL,
  p50_latency_ms      DOUBLE PRECISION,
  p95_latency_ms      DOUBLE PRECISION,
  p99_latency_ms      DOUBLE PRECISION,
  avg_latency_ms      DOUBLE PRECISION,
  min_latency_ms      DOUBLE PRECISION,
  max_latency_ms      DOUBLE PRECISION,
  active_connections  INTEGER NOT NULL,
  target_connections  INTEGER NOT NULL,
  cpu_percent         DOUBLE PRECISION,
  memory_percent      DOUBLE PRECISION,
  custom_metrics      TEXT    NOT NULL,
  PRIMARY KEY (run_id, worker_id, sequence)
);

-- The newest cumulative figures of each series of each worker: what final counts are made of, and live ones when the cache is cold.
CREATE TABLE worker_series (
  run_id      TEXT    NOT NULL REFERENCES run_status (run_id) ON DELETE CASCADE ON UPDATE RESTRICT,
  worker_id   TEXT    NOT NULL,
  operation   TEXT    NOT NULL,
  query_kind  TEXT    NOT NULL,
  phase       TEXT    NOT NULL,
  step_number INTEGER NOT NULL,
  sequence    BIGINT  NOT NULL,
  ops         BIGINT  NOT NULL,
  row_count   BIGINT  NOT NULL,
  errors      TEXT    NOT NULL,
  response    TEXT    NOT NULL,
  service     TEXT    NOT NULL,
  PRIMARY KEY (run_id, worker_id, operation, phase, step_number)
);

-- Parents (test_id = run_id) and children. Percentiles of parents are of the lake's records once there are any.
CREATE TABLE test_results (
  test_id                      TEXT    NOT NULL PRIMARY KEY,
  run_id                       TEXT    NOT NULL REFERENCES run_status (run_id) ON DELETE CASCADE ON UPDATE RESTRICT,
  test_name                    TEXT    NOT NULL,
  template_id                  TEXT,
  template_name                TEXT    NOT NULL,
  worker_id                    TEXT    CHECK ((worker_id IS NULL) = (test_id = run_id)),
  status                       TEXT    NOT NULL,
  target_kind                  TEXT    NOT NULL,
  table_name                   TEXT    NOT NULL,
  table_type                   TEXT,
  warehouse                    TEXT,
  load_mode                    TEXT    NOT NULL,
  query_tag                    TEXT    NOT NULL,
  start_time_ms                BIGINT,
  end_time_ms                  BIGINT,
  duration_seconds             DOUBLE PRECISION,
  concurrent_connections       INTEGER NOT NULL,
  total_operations             BIGINT  NOT NULL,
  read_operations              BIGINT  NOT NULL,
  write_operations             BIGINT  NOT NULL,
  failed_operations            BIGINT  NOT NULL,
  qps                          DOUBLE PRECISION,
  p50_latency_ms               DOUBLE PRECISION,
  p90_latency_ms               DOUBLE PRECISION,
  p95_latency_ms               DOUBLE PRECISION,
  p99_latency_ms               DOUBLE PRECISION,
  p999_latency_ms              DOUBLE PRECISION,
  avg_latency_ms               DOUBLE PRECISION,
  min_latency_ms               DOUBLE PRECISION,
  max_latency_ms               DOUBLE PRECISION,
  app_overhead_p50_ms          DOUBLE PRECISION,
  app_overhead_p95_ms          DOUBLE PRECISION,
  app_overhead_p99_ms          DOUBLE PRECISION,
  latency_aggregation_method   TEXT,
  percentiles_valid            INTEGER NOT NULL CHECK (percentiles_valid IN (0, 1)),
  generator_bound              INTEGER NOT NULL CHECK (generator_bound IN (0, 1)),
  figures                      TEXT    NOT NULL,
  find_max_result              TEXT,
  slo_result                   TEXT,
  enrichment_status            TEXT    CHECK (enrichment_status IN ('PENDING', 'RUNNING', 'COMPLETED', 'FAILED', 'SKIPPED', 'AGGREGATE')),
  enrichment_ratio             DOUBLE PRECISION,
  enrichment_error             TEXT,
  cancellation_reason          TEXT,
  created_at_ms                BIGINT  NOT NULL,
  updated_at_ms                BIGINT  NOT NULL
);

CREATE INDEX test_results_by_run ON test_results (run_id);
CREATE INDEX test_results_by_start ON test_results (start_time_ms);

-- The run's aggregate, once a second, as RUN_UPDATE had it.
CREATE TABLE metrics_snapshots (
  run_id              TEXT    NOT NULL REFERENCES run_status (run_id) ON DELETE CASCADE ON UPDATE RESTRICT,
  timestamp_ms        BIGINT  NOT NULL,
  elapsed_seconds     DOUBLE PRECISION NOT NULL,
  phase               TEXT    NOT NULL,
  step_number         INTEGER NOT NULL,
  total_queries       BIGINT  NOT NULL,
  qps                 DOUBLE PRECISION NOT NULL,
  error_count         BIGINT  NOT NULL,
  p50_latency_ms      DOUBLE PRECISION,
  p95_latency_ms      DOUBLE PRECISION,
  p99_latency_ms      DOUBLE PRECISION,
  avg_latency_ms      DOUBLE PRECISION,
  active_connections  INTEGER NOT NULL,
  target_connections  INTEGER NOT NULL,
  worker_count        INTEGER NOT NULL,
  interval_response   TEXT    NOT NULL,
  PRIMARY KEY (run_id, timestamp_ms)
);

CREATE TABLE test_logs (
  run_id        TEXT   NOT NULL REFERENCES run_status (run_id) ON DELETE CASCADE ON UPDATE RESTRICT,
  sequence      BIGINT NOT NULL CHECK (sequence > 0),
  log_id        TEXT   NOT NULL UNIQUE,
  test_id       TEXT,
  worker_id     TEXT,
  level         TEXT   NOT NULL CHECK (level IN ('INFO', 'WARNING', 'ERROR', 'CRITICAL')),
  message       TEXT   NOT NULL,
  details       TEXT,
  timestamp_ms  BIGINT NOT NULL,
  PRIMARY KEY (run_id, sequence)
);

CREATE TABLE warehouse_poll_snapshots (
  snapshot_id        TEXT   NOT NULL PRIMARY KEY,
  run_id             TEXT   NOT NULL REFERENCES run_status (run_id) ON DELETE CASCADE ON UPDATE RESTRICT,
  timestamp_ms       BIGINT NOT NULL,
  elapsed_seconds    DOUBLE PRECISION,
  warehouse_name     TEXT   NOT NULL,
  started_clusters   INTEGER,
  running            INTEGER,
  queued             INTEGER,
  min_cluster_count  INTEGER,
  max_cluster_count  INTEGER,
  scaling_policy     TEXT,
  raw_result         TEXT   NOT NULL,
  created_at_ms      BIGINT NOT NULL
);

CREATE INDEX warehouse_poll_snapshots_by_run ON warehouse_poll_snapshots (run_id, timestamp_ms);

CREATE TABLE find_max_step_history (
  step_id                   TEXT    NOT NULL PRIMARY KEY,
  run_id                    TEXT    NOT NULL REFERENCES run_status (run_id) ON DELETE CASCADE ON UPDATE RESTRICT,
  step_number               INTEGER NOT NULL CHECK (step_number > 0),
  total_target_connections  INTEGER NOT NULL,
  step_start_time_ms        BIGINT  NOT NULL,
  step_end_time_ms          BIGINT,
  step_duration_seconds     DOUBLE PRECISION,
  total_queries             BIGINT,
  qps                       DOUBLE PRECISION,
  p50_latency_ms            DOUBLE PRECISION,
  p95_latency_ms            DOUBLE PRECISION,
  p99_latency_ms            DOUBLE PRECISION,
  error_count               BIGINT,
  error_rate                DOUBLE PRECISION,
  qps_vs_prior_pct          DOUBLE PRECISION,
  p95_vs_baseline_pct       DOUBLE PRECISION,
  queue_detected            INTEGER NOT NULL CHECK (queue_detected IN (0, 1)),
  outcome                   TEXT    CHECK (outcome IN ('STABLE', 'DEGRADED', 'ERROR_THRESHOLD', 'QUEUE_DETECTED', 'PLATEAU', 'BACKOFF', 'MIDPOINT', 'CONFIRMED')),
  stop_reason               TEXT,
  created_at_ms             BIGINT  NOT NULL,
  UNIQUE (run_id, step_number)
);
