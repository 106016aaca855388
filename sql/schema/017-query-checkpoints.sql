-- Complete checkpoints of queries that the coordinator deploys. The transaction that inserts the row also commits what the query's sinks prepared for it. A
-- query goes on from its newest row. They change every few seconds, so nobody watches them.
CREATE TABLE query_checkpoints (
  query_id         TEXT   NOT NULL REFERENCES queries (query_id) ON DELETE CASCADE ON UPDATE RESTRICT,
  checkpoint       BIGINT NOT NULL CHECK (checkpoint > 0),
  epoch            BIGINT NOT NULL CHECK (epoch > 0),
  -- Where each piece of state lies, and the positions of sources and sinks, as JSON.
  manifest         TEXT   NOT NULL,
  -- Of the objects that it refers to.
  size_bytes       BIGINT NOT NULL CHECK (size_bytes >= 0),
  duration_ms      BIGINT NOT NULL CHECK (duration_ms >= 0),
  completed_at_ms  BIGINT NOT NULL,
  PRIMARY KEY (query_id, checkpoint)
);
