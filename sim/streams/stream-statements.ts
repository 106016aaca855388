/** What people write: the statements of a plan's actions. */
import type { PlannedQuery, StreamAction, StreamsSettings } from "./plan-streams.ts";
import { streamSinks } from "./plan-streams.ts";

export const grpcPort = 7_000;
/** Numbers of rows of different physical sources never meet. */
export const rowsOfSource = 1_000_000;
/** The event time between two rows of a source, in milliseconds. */
export const rowStepMs = 250;
export const windowMs = 4_000;
export const groups = 3;

export function workerName(index: number): string {
  return `worker-${index + 1}`;
}

/** Workers with their slots and links; a link leads to a worker that stands before it. */
export function workerStatements({ slots, links }: StreamsSettings): readonly string[] {
  return slots
    .map((capacity, worker) => {
      const peers = links.flatMap(([from, to]) => (from === worker ? `${workerName(to)}` : []));
      const linked = peers.length === 0 ? "" : `, '${peers.join(",")}' AS PEERS`;
      return `CREATE WORKER '${workerName(worker)}:${grpcPort}' SET (${capacity} AS CAPACITY${linked})`;
    })
    .toReversed();
}

export function definitions({ sources, rowsPerSecond }: StreamsSettings): readonly string[] {
  const logical = sources.flatMap((places, source) => [
    `CREATE LOGICAL SOURCE s${source}(n UINT64 NOT NULL, ts UINT64 NOT NULL)`,
    ...places.map((place, at) => physical(source, place, at, rowsPerSecond)),
  ]);
  const sinks = Array.from({ length: streamSinks }, (_, sink) =>
    ["copy", "sums"].map(
      (shape) => `CREATE SINK ${shape}${sink} TYPE Lake SET('${shape}${sink}' AS "SINK"."TABLE")`,
    ),
  );
  return [...logical, ...sinks.flat()];
}

function physical(source: number, place: number, at: number, rows: number): string {
  const host = place < 0 ? "" : `, '${workerName(place)}' AS "SOURCE".HOST`;
  const first = at * rowsOfSource;
  const sequence = (from: number, step: number): string =>
    `SEQUENCE UINT64 ${from} ${from + rowsOfSource * step} ${step}`;
  return `CREATE PHYSICAL SOURCE FOR s${source} TYPE Generator SET('${sequence(first, 1)}, ${sequence(0, rowStepMs)}'
    AS "SOURCE".GENERATOR_SCHEMA, ${rows} AS "SOURCE".ROWS_PER_SECOND, ${at} AS "SOURCE".SEED${host})`;
}

/** The number of a request is in a setting of the queries that it creates. */
export const requestBase = 3_600_000;

/** `request` is the number of the request. */
export function statementsOf(action: StreamAction, request: number): readonly string[] {
  switch (action.kind) {
    case "stream_create":
      return [createQuery(action.query, action.replace, request)];
    case "stream_drop":
      return [`DROP QUERY q${action.name} ${action.stop}`];
    case "stream_pause":
      return [`PAUSE QUERY q${action.name}`];
    case "stream_resume":
      return [`RESUME QUERY q${action.name}`];
    case "stream_bundle":
      return [
        `DROP QUERY IF EXISTS q${action.drop} HARD`,
        ...action.queries.map((query) => createQuery(query, false, request)),
      ];
  }
}

function createQuery(query: PlannedQuery, replace: boolean, request: number): string {
  const { name, shape, source, sink, parallelism, checkpointMs, replaceAfterMs } = query;
  const select =
    shape === "copy"
      ? `SELECT n, ts FROM s${source}`
      : `SELECT start, n % UINT64(${groups}) AS g, SUM(n) AS total, COUNT(*) AS rows FROM s${source}
         GROUP BY (g) WINDOW TUMBLING(ts, SIZE ${windowMs / 1_000} SEC)`;
  return `CREATE ${replace ? "OR REPLACE " : ""}QUERY q${name} AS ${select} INTO ${shape}${sink}
    SET(${parallelism} AS "QUERY".PARALLELISM, ${checkpointMs} AS "QUERY".CHECKPOINT_INTERVAL,
    ${replaceAfterMs} AS "QUERY".REPLACE_AFTER, ${requestBase + request} AS "QUERY".IDLE_TIMEOUT)`;
}

/** The tables of the sinks, with their columns. */
export function sinkColumns(): readonly (readonly [table: string, columns: readonly string[]])[] {
  return Array.from({ length: streamSinks }, (_, sink) => [
    [`copy${sink}`, ["n", "ts"]] as const,
    [`sums${sink}`, ["start", "g", "total", "rows"]] as const,
  ]).flat();
}
