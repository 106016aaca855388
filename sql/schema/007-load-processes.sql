-- Load workers on the machines of Capstan's workers. The coordinator writes what it wants (who shall start it, which signal it shall get), the
-- Capstan worker what there is. state: WANTED, STARTING (taken), STARTED, ENDED (it ran), FAILED (it never did; reason says why).
CREATE TABLE load_processes (
  run_id              TEXT    NOT NULL REFERENCES run_status (run_id) ON DELETE CASCADE ON UPDATE RESTRICT,
  worker_id           TEXT    NOT NULL CHECK (length(worker_id) > 0),
  worker_group_id     INTEGER NOT NULL CHECK (worker_group_id >= 0),
  worker_group_count  INTEGER NOT NULL CHECK (worker_group_count > 0),
  started_by          TEXT    NOT NULL CHECK (length(started_by) > 0),
  coordinator_url     TEXT    NOT NULL,
  state               TEXT    NOT NULL CHECK (state IN ('WANTED', 'STARTING', 'STARTED', 'ENDED', 'FAILED')),
  reason              TEXT,
  signal_wanted       TEXT    CHECK (signal_wanted IN ('SIGTERM', 'SIGKILL')),
  changed_at_ms       BIGINT  NOT NULL,
  PRIMARY KEY (run_id, worker_id)
);

CREATE INDEX load_processes_by_starter ON load_processes (started_by, state);
