/** Nexmark's queries in Flink's SQL, with the columns that ours have, by their names. */
import type { NexmarkFiles, NexmarkSource } from "../nexmark-events.ts";

const columns: Readonly<Record<NexmarkSource, string>> = {
  person: `id BIGINT, name STRING, email STRING, credit_card STRING, city STRING, \`state\` STRING,
    date_time BIGINT, extra STRING`,
  auction: `id BIGINT, item STRING, description STRING, initial_bid BIGINT, reserve BIGINT,
    date_time BIGINT, expires BIGINT, seller BIGINT, category BIGINT, extra STRING`,
  bid: `auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, date_time BIGINT,
    extra STRING`,
};

const windowsOf = (table: string, size: string): string =>
  `TABLE(TUMBLE(TABLE ${table}, DESCRIPTOR(ts), INTERVAL ${size}))`;
const counts = `SELECT auction, COUNT(*) AS num, window_start, window_end
  FROM TABLE(HOP(TABLE bid, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
  GROUP BY auction, window_start, window_end`;
const millisecondsOf = (time: string): string =>
  `CAST(TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', ${time}) AS BIGINT) * 1000`;
const sameWindow = "l.window_start = r.window_start AND l.window_end = r.window_end";

export const flinkQueries: Readonly<Record<string, string>> = {
  q0: "SELECT auction, bidder, price, date_time, extra FROM bid",
  q1: `SELECT auction, bidder, CAST(price AS DOUBLE) * CAST(0.908 AS DOUBLE), date_time, extra
    FROM bid`,
  q2: "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0",
  q5: `SELECT l.auction, l.num, ${millisecondsOf("l.window_start")} FROM (${counts}) AS l
    JOIN (SELECT MAX(num) AS most, window_start, window_end FROM (${counts})
      GROUP BY window_start, window_end) AS r ON ${sameWindow} AND l.num = r.most`,
  q7: `SELECT l.auction, l.price, l.bidder, l.date_time, l.extra
    FROM (SELECT * FROM ${windowsOf("bid", "'10' SECOND")}) AS l
    JOIN (SELECT MAX(price) AS highest, window_start, window_end
      FROM ${windowsOf("bid", "'10' SECOND")} GROUP BY window_start, window_end) AS r
    ON ${sameWindow} AND l.price = r.highest`,
  q8: `SELECT l.id, l.name, ${millisecondsOf("l.window_start")}
    FROM (SELECT id, name, window_start, window_end FROM ${windowsOf("person", "'10' SECOND")}
      GROUP BY id, name, window_start, window_end) AS l
    JOIN (SELECT seller, window_start, window_end FROM ${windowsOf("auction", "'10' SECOND")}
      GROUP BY seller, window_start, window_end) AS r ON ${sameWindow} AND l.id = r.seller`,
  q11: `SELECT bidder, COUNT(*), MIN(date_time), MAX(date_time) + 10000
    FROM TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(ts), INTERVAL '10' SECOND))
    GROUP BY bidder, window_start, window_end`,
  q18: `SELECT auction, bidder, price, date_time FROM (
      SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, bidder, auction
        ORDER BY date_time DESC, price DESC) AS place FROM ${windowsOf("bid", "'1' DAY")})
    WHERE place <= 1`,
};

/** The files as tables, with times that watermarks follow without delay. */
export function flinkTables(files: NexmarkFiles): readonly string[] {
  return (["person", "auction", "bid"] as const).map(
    (source) => `CREATE TABLE ${source} (${columns[source]},
      ts AS TO_TIMESTAMP_LTZ(date_time, 3), WATERMARK FOR ts AS ts)
      WITH ('connector' = 'filesystem', 'path' = 'file://${files[source]}', 'format' = 'csv')`,
  );
}
