/**
 * Nexmark's queries twice: in the dialect, over streams, and for DuckDB, over the same files as
 * tables. Both give the same columns in the same order.
 */
import { batchRowsMax } from "../../src/kinds/stream/engine/core/index.ts";
import type { NexmarkFiles, NexmarkSource } from "./nexmark-events.ts";
import { sideRows, sideSelect } from "./side-table.ts";
import { virtualStartMs, virtualStepMs } from "./stream-run.ts";

export interface NexmarkQuery {
  readonly name: string;
  readonly reads: readonly NexmarkSource[];
  /** A continuous query up to its INTO. */
  readonly stream: string;
  readonly batch: string;
  /** The columns of the result, as DuckDB declares them. */
  readonly result: string;
  /** The least events per CPU second, in millions. */
  readonly goal: number | undefined;
  /** Whether it goes by the time of reading, so that DuckDB can only answer for a virtual clock. */
  readonly virtualClock?: boolean;
  /** Whether it joins with a table of the lake. */
  readonly joinsLake?: boolean;
}

interface ColumnTypes {
  readonly stream: string;
  readonly batch: string;
}

const integer: ColumnTypes = { stream: "INT64", batch: "BIGINT" };
const time: ColumnTypes = { stream: "UINT64", batch: "BIGINT" };
const text: ColumnTypes = { stream: "VARSIZED", batch: "VARCHAR" };

const tables: Readonly<Record<NexmarkSource, Readonly<Record<string, ColumnTypes>>>> = {
  person: {
    id: integer,
    name: text,
    email: text,
    credit_card: text,
    city: text,
    state: text,
    date_time: time,
    extra: text,
  },
  auction: {
    id: integer,
    item: text,
    description: text,
    initial_bid: integer,
    reserve: integer,
    date_time: time,
    expires: time,
    seller: integer,
    category: integer,
    extra: text,
  },
  bid: {
    auction: integer,
    bidder: integer,
    price: integer,
    channel: text,
    url: text,
    date_time: time,
    extra: text,
  },
};

const counts = `SELECT auction, COUNT(*) AS num, start FROM bid
  GROUP BY auction WINDOW SLIDING(date_time, SIZE 10 SEC, ADVANCE BY 2 SEC)`;

/** Counts of 2 s, added up to the windows of 10 s that they belong to. */
const hops = `SELECT auction, slice * 2000 - step * 2000 AS start, sum(num)::BIGINT AS num FROM (
    SELECT auction, date_time // 2000 AS slice, count(*) AS num FROM bid GROUP BY ALL)
    CROSS JOIN range(5) AS steps(step) GROUP BY ALL`;

export const nexmarkQueries: readonly NexmarkQuery[] = [
  {
    name: "q0",
    reads: ["bid"],
    stream: "SELECT auction, bidder, price, date_time, extra FROM bid",
    batch: "SELECT auction, bidder, price, date_time, extra FROM bid",
    result: "auction BIGINT, bidder BIGINT, price BIGINT, date_time BIGINT, extra VARCHAR",
    goal: 2,
  },
  {
    name: "q1",
    reads: ["bid"],
    stream: "SELECT auction, bidder, price * FLOAT64(0.908) AS price, date_time, extra FROM bid",
    batch: "SELECT auction, bidder, price * 0.908::DOUBLE AS price, date_time, extra FROM bid",
    result: "auction BIGINT, bidder BIGINT, price DOUBLE, date_time BIGINT, extra VARCHAR",
    goal: 2,
  },
  {
    name: "q2",
    reads: ["bid"],
    stream: "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    batch: "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    result: "auction BIGINT, price BIGINT",
    goal: 2,
  },
  {
    name: "q5",
    reads: ["bid"],
    stream: `SELECT auction, num, opened FROM (SELECT auction, num, start AS opened FROM (${counts}))
      INNER JOIN (SELECT most, start AS top_start FROM (
        SELECT MAX(num) AS most, start FROM (${counts}) WINDOW TUMBLING(start, SIZE 2 SEC)))
      ON num = most WINDOW TUMBLING(opened, top_start, SIZE 2 SEC)`,
    batch: `WITH hops AS MATERIALIZED (${hops}),
      tops AS (SELECT start, max(num) AS most FROM hops GROUP BY start)
      SELECT auction, num, hops.start FROM hops JOIN tops ON hops.start = tops.start AND num = most`,
    result: "auction BIGINT, num BIGINT, start BIGINT",
    goal: 1.5,
  },
  {
    name: "q7",
    reads: ["bid"],
    stream: `SELECT auction, price, bidder, date_time, extra
      FROM (SELECT auction, price, bidder, date_time, extra FROM bid)
      INNER JOIN (SELECT highest, start AS top_start FROM (
        SELECT MAX(price) AS highest, start FROM bid WINDOW TUMBLING(date_time, SIZE 10 SEC)))
      ON price = highest WINDOW TUMBLING(date_time, top_start, SIZE 10 SEC)`,
    batch: `SELECT auction, price, bidder, date_time, extra FROM bid
      JOIN (SELECT max(price) AS highest, date_time // 10000 AS slot FROM bid GROUP BY slot) AS tops
      ON price = highest AND date_time // 10000 = slot`,
    result: "auction BIGINT, price BIGINT, bidder BIGINT, date_time BIGINT, extra VARCHAR",
    goal: 1,
  },
  {
    name: "q8",
    reads: ["person", "auction"],
    stream: `SELECT id, name, opened FROM
      (SELECT id, name, start AS opened FROM (SELECT id, name, COUNT(*) AS persons, start FROM person
        GROUP BY id, name WINDOW TUMBLING(date_time, SIZE 10 SEC)))
      INNER JOIN (SELECT seller, start AS sold FROM (SELECT seller, COUNT(*) AS auctions, start FROM auction
        GROUP BY seller WINDOW TUMBLING(date_time, SIZE 10 SEC)))
      ON id = seller WINDOW TUMBLING(opened, sold, SIZE 10 SEC)`,
    batch: `SELECT id, name, slot * 10000 FROM
      (SELECT DISTINCT id, name, date_time // 10000 AS slot FROM person)
      JOIN (SELECT DISTINCT seller, date_time // 10000 AS slot FROM auction) AS sellers USING (slot)
      WHERE id = seller`,
    result: "id BIGINT, name VARCHAR, start BIGINT",
    goal: 1,
  },
  {
    name: "q11",
    reads: ["bid"],
    stream: `SELECT bidder, bids, start, end FROM (SELECT bidder, COUNT(*) AS bids, start, end FROM bid
      GROUP BY bidder WINDOW SESSION(date_time, GAP 10 SEC))`,
    batch: `WITH marked AS (SELECT bidder, date_time,
        coalesce(date_time - lag(date_time) OVER by_bidder >= 10000, true)::INTEGER AS opens
        FROM bid WINDOW by_bidder AS (PARTITION BY bidder ORDER BY date_time)),
      numbered AS (SELECT bidder, date_time, sum(opens) OVER (PARTITION BY bidder ORDER BY date_time) AS session
        FROM marked)
      SELECT bidder, count(*), min(date_time), max(date_time) + 10000 FROM numbered GROUP BY bidder, session`,
    result: "bidder BIGINT, bids BIGINT, start BIGINT, end BIGINT",
    goal: 0.8,
  },
  {
    name: "q12",
    reads: ["bid"],
    stream: `SELECT bidder, num, start, end FROM (SELECT bidder, COUNT(*) AS num, start, end FROM bid
      GROUP BY bidder WINDOW TUMBLING(SIZE 10 SEC))`,
    batch: `SELECT bidder, count(*), slot * 10000, slot * 10000 + 10000 FROM (SELECT bidder,
        (${virtualStartMs} + (row_number() OVER () - 1)
          // ${batchRowsMax} * ${virtualStepMs}) // 10000 AS slot
        FROM bid) GROUP BY bidder, slot`,
    result: "bidder BIGINT, num BIGINT, start BIGINT, end BIGINT",
    goal: undefined,
    virtualClock: true,
  },
  {
    name: "q13",
    reads: ["bid"],
    stream: `SELECT auction, bidder, price, date_time, side.value AS value FROM bid
      JOIN TABLE side ON auction % ${sideRows} = side.id`,
    batch: `SELECT auction, bidder, price, date_time, side.value FROM bid
      JOIN side ON auction % ${sideRows} = side.id`,
    result: "auction BIGINT, bidder BIGINT, price BIGINT, date_time BIGINT, value VARCHAR",
    goal: undefined,
    joinsLake: true,
  },
  {
    name: "q14",
    reads: ["bid"],
    stream: `SELECT auction, bidder, price * FLOAT64(0.908) AS price,
      CASE WHEN date_time / 3600000 % 24 BETWEEN 8 AND 18 THEN 'dayTime'
        WHEN date_time / 3600000 % 24 <= 6 OR date_time / 3600000 % 24 >= 20 THEN 'nightTime'
        ELSE 'otherTime' END AS bid_time,
      date_time, extra, CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', '')) AS c_count FROM bid
      WHERE price * FLOAT64(0.908) > 1000000 AND price * FLOAT64(0.908) < 50000000`,
    batch: `SELECT auction, bidder, price * 0.908::DOUBLE AS price,
      CASE WHEN date_time // 3600000 % 24 BETWEEN 8 AND 18 THEN 'dayTime'
        WHEN date_time // 3600000 % 24 <= 6 OR date_time // 3600000 % 24 >= 20 THEN 'nightTime'
        ELSE 'otherTime' END,
      date_time, extra, length(extra) - length(replace(extra, 'c', '')) FROM bid
      WHERE price * 0.908::DOUBLE > 1000000 AND price * 0.908::DOUBLE < 50000000`,
    result:
      "auction BIGINT, bidder BIGINT, price DOUBLE, bid_time VARCHAR, date_time BIGINT, extra VARCHAR, c_count BIGINT",
    goal: undefined,
  },
  {
    name: "q17",
    reads: ["bid"],
    stream: `SELECT auction, bids, low_bids, middle_bids, high_bids, least, most, mean, total FROM (
      SELECT auction, COUNT(*) AS bids, COUNT(*) FILTER (WHERE price < 10000) AS low_bids,
        COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle_bids,
        COUNT(*) FILTER (WHERE price >= 1000000) AS high_bids,
        MIN(price) AS least, MAX(price) AS most, AVG(price) AS mean, SUM(price) AS total FROM bid
      GROUP BY auction WINDOW TUMBLING(date_time, SIZE 1 DAY))`,
    batch: `SELECT auction, count(*), count(*) FILTER (price < 10000),
      count(*) FILTER (price >= 10000 AND price < 1000000), count(*) FILTER (price >= 1000000),
      min(price), max(price), avg(price), sum(price)::BIGINT FROM bid
      GROUP BY auction, date_time // 86400000`,
    result:
      "auction BIGINT, bids BIGINT, low_bids BIGINT, middle_bids BIGINT, high_bids BIGINT, least BIGINT, most BIGINT, mean DOUBLE, total BIGINT",
    goal: undefined,
  },
  {
    name: "q18",
    reads: ["bid"],
    stream: `SELECT auction, bidder, price, date_time FROM bid WINDOW TUMBLING(date_time, SIZE 1 DAY)
      QUALIFY ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC, price DESC) <= 1`,
    batch: `SELECT auction, bidder, price, date_time FROM bid
      QUALIFY row_number() OVER (PARTITION BY bidder, auction, date_time // 86400000
        ORDER BY date_time DESC, price DESC) <= 1`,
    result: "auction BIGINT, bidder BIGINT, price BIGINT, date_time BIGINT",
    goal: 0.8,
  },
  {
    name: "q19",
    reads: ["bid"],
    stream: `SELECT auction, bidder, price, date_time FROM bid WINDOW TUMBLING(date_time, SIZE 1 DAY)
      QUALIFY ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC, date_time, bidder) <= 10`,
    batch: `SELECT auction, bidder, price, date_time FROM bid
      QUALIFY row_number() OVER (PARTITION BY auction, date_time // 86400000
        ORDER BY price DESC, date_time, bidder) <= 10`,
    result: "auction BIGINT, bidder BIGINT, price BIGINT, date_time BIGINT",
    goal: undefined,
  },
];

/** The sources as statements of the dialect. */
export function streamTables(files: NexmarkFiles): string {
  return entriesOf(tables)
    .map(([source, columns]) => {
      const declared = Object.entries(columns).map(
        ([name, type]) => `${name} ${type.stream} NOT NULL`,
      );
      return `CREATE LOGICAL SOURCE ${source}(${declared.join(", ")});
CREATE PHYSICAL SOURCE FOR ${source} TYPE File SET('${files[source]}' AS "SOURCE".FILE_PATH, 'CSV' AS PARSER.TYPE);`;
    })
    .join("\n");
}

/** The same files as views of DuckDB, whose reader need not guess anything. */
export function batchTables(files: NexmarkFiles): readonly string[] {
  const views = entriesOf(tables).map(([source, columns]) => {
    const declared = Object.entries(columns).map(([name, type]) => `'${name}': '${type.batch}'`);
    return `CREATE OR REPLACE VIEW ${source} AS SELECT * FROM ${readCsv(files[source], declared.join(", "))}`;
  });
  return [...views, `CREATE OR REPLACE TABLE side AS ${sideSelect}`];
}

export function readCsv(path: string, columns: string): string {
  return `read_csv('${path}', header = false, auto_detect = false, delim = ',', quote = '"', escape = '"', columns = {${columns}})`;
}

function entriesOf<K extends string, V>(record: Readonly<Record<K, V>>): readonly [K, V][] {
  return Object.entries(record) as [K, V][];
}
