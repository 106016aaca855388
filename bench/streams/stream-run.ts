/** Runs a continuous query in this process to its end, and says what it took. */
import { realClock } from "../../src/ground/kernel/node/real-clock.ts";
import { defaultDialect, type Plan } from "../../src/kinds/stream/language/core/index.ts";
import { createLocalConnectors, LocalQuery } from "../../src/kinds/stream/run/index.ts";
import { planFile } from "../../src/kinds/stream/run/local/plan-file.ts";
import { type Spent, startStopwatch } from "../tables/lake-world.ts";
import type { MemoryEvents } from "./memory-events.ts";
import type { SideTable } from "./side-table.ts";

export interface StreamRun extends Spent {
  readonly rowsIn: number;
  readonly rowsOut: number;
  readonly lateRows: number;
}

export interface StreamRunOptions {
  /** Where the rows of files come from instead. */
  readonly memory?: MemoryEvents;
  /** Of queries that join with a table of the lake. */
  readonly side?: SideTable | undefined;
}

/** The first moment of the virtual clock, and how far each batch in memory moves it. */
export const virtualStartMs = 1_700_000_000_000;
export const virtualStepMs = 800;

/** `statements` end with one query. */
export async function runStream(
  statements: string,
  { memory, side }: StreamRunOptions = {},
): Promise<StreamRun> {
  const plan = planOf(statements, side);
  if (memory !== undefined) {
    for (const { op } of plan.nodes) if (op.kind === "source") memory.load(op);
  }
  const stopwatch = startStopwatch();
  const query = createQuery(plan, memory, side);
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
  return createQuery(planOf(statements), undefined, undefined);
}

export function planOf(statements: string, side?: SideTable): Plan {
  const [planned] = planFile(statements, defaultDialect, { tables: side?.tables });
  if (planned === undefined) throw new Error("there is no query among the statements");
  return planned.plan;
}

/** With events in memory, time of reading is virtual: it moves with each batch. */
function createQuery(
  plan: Plan,
  memory: MemoryEvents | undefined,
  side: SideTable | undefined,
): LocalQuery {
  const local = createLocalConnectors({
    ...{ sourceDir: "/", sinkDir: "/", print: () => undefined },
    ...(side === undefined ? {} : { lake: side.lake }),
  });
  if (memory === undefined) {
    return new LocalQuery({ plan, connectors: local, clock: realClock, checkpoints: undefined });
  }
  let wallMs = virtualStartMs;
  const tick = (batch: number): void => {
    wallMs = virtualStartMs + batch * virtualStepMs;
  };
  return new LocalQuery({
    plan,
    connectors: { ...local, openSource: ({ op }) => Promise.resolve(memory.open(op, tick)) },
    clock: { ...realClock, wallMs: () => wallMs },
    checkpoints: undefined,
  });
}
