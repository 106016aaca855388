/**
 * I47: what is committed of a query are the results of the rows that its sources have given, each
 * once. The rows of a source are known: their numbers follow one another.
 */

import type { StreamFile, StreamRow } from "../streams/stream-files.ts";
import { groups, rowStepMs, sinkColumns, windowMs } from "../streams/stream-statements.ts";
import type { SimObjects } from "../tables/sim-objects.ts";
import type { Counters } from "./counters.ts";
import type { StreamsReader } from "./streams-state.ts";
import type { Verdict } from "./verdict.ts";

interface Results {
  readonly shape: "copy" | "sums";
  /** The number of the first row of each source, by its node. */
  readonly sources: ReadonlyMap<string, number>;
  /** What was given: rows of a copy, or windows. */
  readonly given: Map<string, StreamRow>;
  /** What came with the checkpoint under way. */
  fresh: StreamRow[];
  checkpoint: number;
}

interface Manifest {
  readonly fragments: readonly { readonly positions: Readonly<Record<string, string>> }[];
}

interface StoredPlan {
  readonly plan: {
    readonly nodes: readonly {
      readonly id: number;
      readonly op: { readonly kind: string; readonly config?: Readonly<Record<string, unknown>> };
    }[];
  };
}

/** How many rows a checkpoint has of each source: its first row, and how many follow. */
type Read = readonly { readonly first: number; readonly count: number }[];

export class ResultsCheck {
  readonly #reader: StreamsReader;
  readonly #objects: SimObjects<StreamFile>;
  readonly #verdict: Verdict;
  readonly #counters: Counters;
  readonly #results = new Map<string, Results>();
  #lastFile = -1;

  constructor(
    reader: StreamsReader,
    objects: SimObjects<StreamFile>,
    verdict: Verdict,
    counters: Counters,
  ) {
    this.#reader = reader;
    this.#objects = objects;
    this.#verdict = verdict;
    this.#counters = counters;
  }

  /** Call it after every transaction of the catalog. Whether a checkpoint was recorded. */
  committed(): boolean {
    let isRecorded = false;
    for (const { fileId, path } of this.#reader.filesAfter(this.#lastFile)) {
      this.#lastFile = fileId;
      this.#add(path);
    }
    // Savepoints stay beside the newest one.
    const newest = new Map(
      this.#reader.checkpoints().map(({ query_id, checkpoint }) => [query_id, checkpoint]),
    );
    for (const [queryId, checkpoint] of newest) {
      const results = this.#resultsOf(queryId);
      if (results === undefined || results.checkpoint === checkpoint) continue;
      this.#verdict.require(checkpoint > results.checkpoint, "I46", () => {
        return `checkpoint ${checkpoint} of the query ${queryId} follows ${results.checkpoint}`;
      });
      results.checkpoint = checkpoint;
      this.#counters.add("streams: checkpoint");
      isRecorded = true;
      this.#compare(queryId, results);
    }
    return isRecorded;
  }

  #resultsOf(queryId: string): Results | undefined {
    const known = this.#results.get(queryId);
    if (known !== undefined) return known;
    const text = this.#reader.plan(queryId);
    if (text === undefined) return undefined;
    const { nodes } = (JSON.parse(text) as StoredPlan).plan;
    const results: Results = {
      shape: nodes.some(({ op }) => op.kind === "windowAggregate") ? "sums" : "copy",
      sources: new Map(
        nodes.flatMap(({ id, op }) =>
          op.kind === "source" ? [[`${id}`, firstRowOf(String(op.config?.GENERATOR_SCHEMA))]] : [],
        ),
      ),
      given: new Map(),
      fresh: [],
      checkpoint: 0,
    };
    this.#results.set(queryId, results);
    return results;
  }

  #add(path: string): void {
    const [file] = sinkColumns().flatMap(
      ([table]) => this.#objects.get(`main/${table}/${path}`) ?? [],
    );
    if (file?.kind !== "rows") {
      this.#verdict.fail("I47", `${path} was committed, and there is no such file`);
      return;
    }
    const query = this.#reader.queries.get(file.query);
    this.#verdict.require(query?.epoch === file.epoch, "I46", () => {
      return `rows of epoch ${file.epoch} of the query ${file.query} were committed in epoch ${query?.epoch}`;
    });
    const results = this.#resultsOf(file.query);
    if (results === undefined) return;
    for (const row of file.rows) {
      const key = keyOf(results.shape, row);
      this.#counters.add("streams: result");
      this.#verdict.require(!results.given.has(key), "I47", () => {
        return `the query ${file.query} gives ${row.join(", ")} twice`;
      });
      results.given.set(key, row);
      results.fresh.push(row);
    }
  }

  /** All results of the rows before the positions of the sources are there, and no others. */
  #compare(queryId: string, results: Results): void {
    const { shape, given, fresh } = results;
    const read = this.#readBy(queryId, results);
    for (const row of fresh) {
      const wanted = shape === "copy" ? copyOf(row, read) : sumOf(row, read);
      this.#verdict.require(wanted === row.join(), "I47", () => {
        return `the query ${queryId} gives ${row.join()} instead of ${wanted}, having read ${JSON.stringify(read)}`;
      });
    }
    results.fresh = [];
    const missing = (shape === "copy" ? copiesOf(read) : windowsOf(read)).find(
      (key) => !given.has(key),
    );
    this.#verdict.require(missing === undefined, "I47", () => {
      return `the query ${queryId} has read ${JSON.stringify(read)}, and ${missing} is not committed`;
    });
  }

  #readBy(queryId: string, { sources }: Results): Read {
    const text = this.#reader.manifest(queryId);
    const { fragments } = JSON.parse(text ?? '{"fragments":[]}') as Manifest;
    return fragments.flatMap(({ positions }) =>
      Object.entries(positions).flatMap(([node, position]) => {
        const first = sources.get(node);
        return first === undefined ? [] : [{ first, count: Number(position) }];
      }),
    );
  }
}

function firstRowOf(schema: string): number {
  return Number(/^SEQUENCE UINT64 (\d+)/.exec(schema)?.[1]);
}

function keyOf(shape: Results["shape"], [first, second]: StreamRow): string {
  return shape === "copy" ? `${first}` : `${first} ${second}`;
}

function copyOf([number = 0]: StreamRow, read: Read): string {
  const source = read.find(({ first, count }) => number >= first && number < first + count);
  return source === undefined ? "nothing" : `${number},${(number - source.first) * rowStepMs}`;
}

function copiesOf(read: Read): string[] {
  return read.flatMap(({ first, count }) =>
    Array.from({ length: count }, (_, row) => `${first + row}`),
  );
}

/** Of a window that was closed before its end: what was read until then. */
function sumOf([start = 0, group = 0]: StreamRow, read: Read): string {
  let total = 0;
  let rows = 0;
  for (const { first, count } of read) {
    const from = start / rowStepMs;
    const to = Math.min(count, from + windowMs / rowStepMs);
    for (let row = from; row < to; row += 1) {
      if ((first + row) % groups !== group) continue;
      total += first + row;
      rows += 1;
    }
  }
  return [start, group, total, rows].join();
}

/** The windows that no row to come can belong to. Each has rows of every group. */
function windowsOf(read: Read): string[] {
  const least = Math.min(...read.map(({ count }) => count));
  const closed = Math.floor(((least - 1) * rowStepMs) / windowMs);
  return Array.from({ length: Math.max(0, closed) }, (_, window) =>
    Array.from({ length: groups }, (_, group) => `${window * windowMs} ${group}`),
  ).flat();
}
