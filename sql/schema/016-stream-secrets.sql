-- Secrets of sources and sinks that were given in place, and nowhere else: rows that people see have a reference in their stead.
CREATE TABLE stream_secrets (
  -- The source, sink or query that the secret belongs to, and with which it goes.
  owner_id  TEXT NOT NULL,
  -- Unique to the owner: the setting, or the place in the plan and the setting.
  place     TEXT NOT NULL,
  value     TEXT NOT NULL,
  PRIMARY KEY (owner_id, place)
);
