-- Queries that show their rows to whoever asked for them, and go when nobody looks any more: 1.
ALTER TABLE queries ADD COLUMN is_preview INTEGER NOT NULL DEFAULT 0 CHECK (is_preview IN (0, 1));
