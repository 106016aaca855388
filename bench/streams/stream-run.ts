/** Runs a continuous query in this process to its end, and says what it took. */
import { realClock } from "../../src/ground/kernel/node/real-clock.ts";
import { defaultDialect } from "../../src/kinds/stream/language/core/index.ts";
import { createLocalConnectors, LocalQuery } from "../../src/kinds/stream/run/index.ts";
import { planFile } from "../../src/kinds/stream/run/local/plan-file.ts";
import { type Spent, startStopwatch } from "../tables/lake-world.ts";

export interface StreamRun extends Spent {
  readonly rowsIn: number;
  readonly rowsOut: number;
  readonly lateRows: number;
}

/** `statements` end with one query. */
export async function runStream(statements: string): Promise<StreamRun> {
  const stopwatch = startStopwatch();
  const query = openQuery(statements);
  await query.open();
  await query.run();
  const spent = stopwatch();
  const progress = await query.progress();
  return {
    ...spent,
    rowsIn: progress.sources.reduce((sum, { rows }) => sum + rows, 0),
    rowsOut: progress.rowsOut,
    lateRows: progress.lateRows,
  };
}

export function openQuery(statements: string): LocalQuery {
  const [planned] = planFile(statements, defaultDialect);
  if (planned === undefined) throw new Error("there is no query among the statements");
  return new LocalQuery({
    plan: planned.plan,
    connectors: createLocalConnectors({
      sourceDir: "/",
      sinkDir: "/",
      print: () => undefined,
    }),
    clock: realClock,
    checkpoints: undefined,
  });
}
