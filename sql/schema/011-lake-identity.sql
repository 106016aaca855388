-- Which lake is this store's, and who keeps its files from being deleted.

-- One row at most. The lake and the metrics' directory have the same text in a file: a store that lost its rows, or another
-- one, must not take their files for nobody's.
CREATE TABLE lake_identity (
  id       INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  lake_id  TEXT    NOT NULL CHECK (length(lake_id) BETWEEN 8 AND 100)
);

-- While a hold has not expired, upkeep deletes no file of the lake and of no segment. A backup has one and renews it.
CREATE TABLE upkeep_holds (
  holder         TEXT   NOT NULL PRIMARY KEY CHECK (length(holder) BETWEEN 1 AND 200),
  expires_at_ms  BIGINT NOT NULL
);
