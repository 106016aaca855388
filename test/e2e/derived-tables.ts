/**
 * Dynamic tables of every kind over `events`: merged, by keys, by rows, full, a diamond and a
 * chain; and the same computed directly.
 */
import { type Cluster, rowsOf } from "./harness.ts";

/** A source as a definition names it. */
type SourceOf = (name: string, alias: string) => string;

interface Derived {
  readonly options: string;
  readonly select: (of: SourceOf) => string;
}

const lag = "TARGET_LAG = '2 seconds'";

const derived: Readonly<Record<string, Derived>> = {
  by_kind: {
    options: lag,
    select: (of) =>
      `SELECT e.kind, count(*) AS n, sum(e.amount) AS total FROM ${of("events", "e")} GROUP BY e.kind`,
  },
  by_note: {
    options: `${lag} REFRESH_MODE = INCREMENTAL`,
    select: (of) =>
      `SELECT e.owner, e.note, max(e.amount) AS top, count(DISTINCT e.kind) AS kinds FROM ${of("events", "e")} GROUP BY e.owner, e.note`,
  },
  labelled: {
    options: `${lag} REFRESH_MODE = INCREMENTAL`,
    select: (of) =>
      `SELECT e.id, e.owner, l.label, e.amount FROM ${of("events", "e")} LEFT JOIN ${of("labels", "l")} ON l.kind = e.kind`,
  },
  whole: {
    options: `${lag} REFRESH_MODE = FULL`,
    select: (of) =>
      `SELECT e.owner, count(*) AS n, sum(e.amount) AS total FROM ${of("events", "e")} GROUP BY e.owner`,
  },
  left_side: {
    options: "TARGET_LAG = DOWNSTREAM",
    select: (of) => `SELECT b.kind, b.n FROM ${of("by_kind", "b")} WHERE b.n > 0`,
  },
  right_side: {
    options: "TARGET_LAG = DOWNSTREAM",
    select: (of) => `SELECT b.kind, b.n, b.total FROM ${of("by_kind", "b")}`,
  },
  diamond: {
    options: lag,
    select: (of) =>
      `SELECT l.kind, l.n AS left_n, r.n AS right_n, r.total FROM ${of("left_side", "l")} FULL JOIN ${of("right_side", "r")} ON l.kind = r.kind`,
  },
  grand_total: {
    options: lag,
    select: (of) =>
      `SELECT sum(d.left_n) AS n, sum(d.total) AS total, count(*) AS kinds FROM ${of("diamond", "d")}`,
  },
};

export const derivedNames: readonly string[] = Object.keys(derived);

export async function createDerived(url: string): Promise<void> {
  await rowsOf(
    url,
    "CREATE TABLE labels AS SELECT range AS kind, 'k' || range AS label FROM range(5)",
  );
  for (const [name, { options, select }] of Object.entries(derived)) {
    const text = select((source, alias) => `${source} AS ${alias}`);
    await rowsOf(url, `CREATE DYNAMIC TABLE ${name} ${options} AS ${text}`);
  }
}

/** Down to plain tables, now or as they were. */
function directSql(name: string, version: number | undefined): string {
  const at = version === undefined ? "" : ` AT (VERSION => ${version})`;
  return (derived[name] as Derived).select((source, alias) =>
    source in derived
      ? `(${directSql(source, version)}) AS ${alias}`
      : `${source} AS ${alias}${at}`,
  );
}

/**
 * How many rows a dynamic table has that its definition does not give, or lacks; at one snapshot,
 * or as of a refresh.
 */
export async function countDifferences(
  { url }: Cluster,
  name: string,
  refresh?: { readonly snapshot: number; readonly sourceSnapshot: number },
): Promise<number> {
  const direct = directSql(name, refresh?.sourceSnapshot);
  const at = refresh === undefined ? "" : ` AT (VERSION => ${refresh.snapshot})`;
  const stored = `SELECT * FROM ${name}${at}`;
  const [row] = await rowsOf(
    url,
    `SELECT (SELECT count(*) FROM (${stored} EXCEPT ALL ${direct})) + (SELECT count(*) FROM ((${direct}) EXCEPT ALL ${stored}))`,
  );
  return Number(row?.[0]);
}
