-- Checksums of the files that answers are computed from, beside the catalogs that name them; and delete files that stayed open.

-- Of a file of the lake, data or deletes: file_id is its data_file_id or delete_file_id, which are given from one sequence and
-- never twice. A file without a row is not verified yet. checked_at_ms is when upkeep last read it whole; damage says what
-- was found then, and is NULL while it is sound.
CREATE TABLE lake_file_checksums (
  file_id        BIGINT NOT NULL PRIMARY KEY,
  crc32          BIGINT NOT NULL CHECK (crc32 BETWEEN 0 AND 4294967295),
  checked_at_ms  BIGINT NOT NULL,
  damage         TEXT
);

-- The same of a segment's files: {"series":CRC-32,"samples":CRC-32,"histograms":CRC-32}; NULL: not verified yet.
ALTER TABLE metric_segments ADD COLUMN checksums TEXT;
ALTER TABLE metric_segments ADD COLUMN checked_at_ms BIGINT;
ALTER TABLE metric_segments ADD COLUMN damage TEXT;

-- A delete file ends with its data file at the latest. Those of files that were rewritten or emptied stayed open, and counted.
UPDATE ducklake_delete_file
   SET end_snapshot = (SELECT data.end_snapshot FROM ducklake_data_file AS data
                        WHERE data.data_file_id = ducklake_delete_file.data_file_id)
 WHERE EXISTS (SELECT 1 FROM ducklake_data_file AS data
                WHERE data.data_file_id = ducklake_delete_file.data_file_id
                  AND data.end_snapshot IS NOT NULL
                  AND (ducklake_delete_file.end_snapshot IS NULL
                       OR ducklake_delete_file.end_snapshot > data.end_snapshot));
