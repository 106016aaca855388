-- The last complete checkpoint of each continuous query that writes to the lake or reads its changes. The transaction that moves it on also commits what the
-- query's sinks prepared. It changes every few seconds, so nobody watches it.
CREATE TABLE stream_checkpoints (
  query_id         TEXT   NOT NULL PRIMARY KEY CHECK (length(query_id) BETWEEN 1 AND 100),
  -- Increases with each run of the query.
  epoch            BIGINT NOT NULL CHECK (epoch >= 0),
  -- 0: there is none yet.
  checkpoint       BIGINT NOT NULL CHECK (checkpoint >= 0),
  -- The name of the manifest beside the checkpoint's objects.
  manifest         TEXT,
  completed_at_ms  BIGINT NOT NULL,
  CHECK ((checkpoint = 0) = (manifest IS NULL))
);
