/** A first pipeline, from a source that makes its own rows to a table of the lake. */
export interface ExampleStep {
  readonly title: string;
  readonly sql: string;
}

export const example: readonly ExampleStep[] = [
  { title: "A source", sql: "CREATE LOGICAL SOURCE bids(ts UINT64, auction UINT64);" },
  {
    title: "Where its rows come from: here a generator",
    sql: `CREATE PHYSICAL SOURCE FOR bids TYPE Generator SET(
  'SEQUENCE UINT64 0 100000000000 1, SEQUENCE UINT64 0 100000000000 7' AS "SOURCE".GENERATOR_SCHEMA,
  'NONE' AS "SOURCE".STOP_GENERATOR_WHEN_SEQUENCE_FINISHES, 20000 AS "SOURCE".ROWS_PER_SECOND);`,
  },
  {
    title: "A sink: a table of the lake",
    sql: `CREATE SINK hot TYPE Lake SET('hot' AS "SINK".TABLE);`,
  },
  {
    title: "The query: how many bids each group of auctions had in each second",
    sql: `CREATE QUERY hot_items AS
  SELECT start, end, auction % UINT64(10) AS a, COUNT(*) AS n FROM bids
  GROUP BY (a) WINDOW TUMBLING(ts, SIZE 1 SEC) INTO hot
  SET(2 AS "QUERY".PARALLELISM, '2 SEC' AS "QUERY".CHECKPOINT_INTERVAL);`,
  },
];

export const exampleText: string = example.map(({ sql }) => sql).join("\n\n");
export const exampleQuery = "hot_items";
