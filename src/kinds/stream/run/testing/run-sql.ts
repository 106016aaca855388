/** Runs the statements of a text by LocalQuery, for tests: what Print sinks print is the answer. */
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { realFiles } from "../../../../ground/kernel/node/real-files.ts";
import { MemoryBudget } from "../../../../ground/process/core/index.ts";
import { defaultDialect } from "../../language/core/index.ts";
import { StreamPool } from "../host/stream-pool.ts";
import { fragmentLake } from "../lake/answer-calls.ts";
import type { OpenedStreamLake } from "../lake/open-stream-lake.ts";
import { checkpointPlace } from "../local/checkpoint-place.ts";
import { createLocalConnectors, type LocalPlaces } from "../local/local-connectors.ts";
import { LocalQuery } from "../local/local-query.ts";
import { planFile } from "../local/plan-file.ts";

export interface RunSqlOptions {
  /** Where the paths of sources and sinks begin. */
  readonly folder: string;
  readonly checkpoints?: string;
  readonly tell?: (text: string) => void;
  /** Runs queries on these threads instead of this one; what is printed goes there. */
  readonly pool?: StreamPool;
  readonly lake?: OpenedStreamLake;
  /** Called when the queries are open and about to run. */
  readonly onOpen?: (queries: readonly LocalQuery[]) => void;
}

export interface RunSqlResult {
  readonly printed: string;
  readonly queries: readonly LocalQuery[];
}

let names = 0;
/** Queries of one pool have different names. */
function nextName(): string {
  names += 1;
  return `q${names}`;
}

export async function runSql(text: string, options: RunSqlOptions): Promise<RunSqlResult> {
  const { folder, checkpoints, tell, pool } = options;
  const lake = options.lake?.lake;
  let printed = "";
  const places = {
    sourceDir: folder,
    sinkDir: folder,
    ...(tell === undefined ? {} : { tell }),
    ...(lake === undefined ? {} : { lake: fragmentLake(lake) }),
    print: (_: string, rows: string) => {
      printed += rows;
      return undefined;
    },
  };
  const connectors = createLocalConnectors(places);
  const queries: LocalQuery[] = [];
  try {
    const explained = (answer: string): void => {
      printed += `${answer}\n`;
    };
    const tables = await options.lake?.tables();
    for (const { name, plan } of planFile(text, defaultDialect, { explained, tables })) {
      const place = { name, plan, directory: checkpoints, files: realFiles, lake };
      const query = new LocalQuery({
        plan,
        connectors,
        clock: realClock,
        ...(pool !== undefined && { host: { host: pool, name: nextName() } }),
        ...(await checkpointPlace(place)),
      });
      queries.push(query);
      await query.open();
    }
    options.onOpen?.(queries);
    await Promise.all(queries.map((query) => query.run()));
  } finally {
    await Promise.all(queries.map((query) => query.close()));
  }
  return { printed, queries };
}

/** Threads with as much memory as they like, or with `bytesMax` together. */
export function openPool(
  threads: number,
  { sourceDir, sinkDir, ...others }: LocalPlaces,
  bytesMax: number = Number.MAX_SAFE_INTEGER,
): StreamPool {
  return new StreamPool({
    threads,
    clock: realClock,
    places: { sourceDir, sinkDir },
    ...others,
    memory: { budget: new MemoryBudget(bytesMax), bytesMax },
  });
}
