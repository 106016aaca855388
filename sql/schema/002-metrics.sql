-- Metrics: which segments there are, who owns the head, and who does which upkeep.

-- A segment is visible while removed_at_ms is NULL; its files stay for a while longer, for queries that have listed it.
-- Times of samples are milliseconds since 1970 by whoever wrote them; times of the row itself are now_ms().
CREATE TABLE metric_segments (
  segment_id       TEXT    NOT NULL PRIMARY KEY CHECK (length(segment_id) BETWEEN 1 AND 200),
  seq              BIGINT  NOT NULL CHECK (seq > 0),
  level            INTEGER NOT NULL CHECK (level >= 0),
  min_ts           BIGINT  NOT NULL,
  max_ts           BIGINT  NOT NULL CHECK (max_ts >= min_ts),
  shard_count      INTEGER NOT NULL CHECK (shard_count BETWEEN 1 AND 65536),
  shard            INTEGER NOT NULL CHECK (shard >= 0 AND shard < shard_count),
  series_count     BIGINT  NOT NULL CHECK (series_count > 0),
  sample_count     BIGINT  NOT NULL CHECK (sample_count > 0),
  histogram_count  BIGINT  NOT NULL CHECK (histogram_count BETWEEN 0 AND sample_count),
  size_bytes       BIGINT  NOT NULL CHECK (size_bytes > 0),
  metric_names     TEXT,
  path             TEXT    NOT NULL CHECK (length(path) > 0),
  seal_seq         BIGINT  NOT NULL,
  created_at_ms    BIGINT  NOT NULL,
  removed_at_ms    BIGINT
);

-- One row. The version changes with every change of metric_segments, so that a reader knows whether its copy is current;
-- next_seq is what the next publication's segments get.
CREATE TABLE metric_catalog (
  id        INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  version   BIGINT  NOT NULL,
  next_seq  BIGINT  NOT NULL CHECK (next_seq > 0)
);

INSERT INTO metric_catalog (id, version, next_seq) VALUES (1, 0, 1);

-- One row at most: the process that takes samples in.
CREATE TABLE metrics_head (
  id           INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  url          TEXT    NOT NULL,
  incarnation  TEXT    NOT NULL CHECK (length(incarnation) > 0),
  lease_epoch  BIGINT  NOT NULL
);

-- Upkeep that one process at a time does. A fence is never given twice: it grows with every grant, and a row is never deleted.
CREATE TABLE maintenance_claims (
  task           TEXT   NOT NULL PRIMARY KEY CHECK (length(task) BETWEEN 1 AND 200),
  holder         TEXT   NOT NULL CHECK (length(holder) > 0),
  fence          BIGINT NOT NULL CHECK (fence > 0),
  expires_at_ms  BIGINT NOT NULL
);
