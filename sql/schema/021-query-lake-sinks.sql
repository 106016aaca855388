-- Tables that Lake sinks of queries write to, by their names in small letters: a sink makes its table when the query starts, so that no id is known before.
CREATE TABLE query_lake_sinks (
  query_id   TEXT NOT NULL REFERENCES queries (query_id) ON DELETE CASCADE ON UPDATE RESTRICT,
  table_key  TEXT NOT NULL CHECK (length(table_key) > 0),
  PRIMARY KEY (query_id, table_key)
);
CREATE INDEX query_lake_sinks_by_table ON query_lake_sinks (table_key);
