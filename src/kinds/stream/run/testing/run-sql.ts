/** Runs the statements of a text by LocalQuery, for tests: what Print sinks print is the answer. */
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { realFiles } from "../../../../ground/kernel/node/real-files.ts";
import { defaultDialect } from "../../language/core/index.ts";
import { createLocalConnectors } from "../local/local-connectors.ts";
import { LocalQuery } from "../local/local-query.ts";
import { planFile } from "../local/plan-file.ts";

export interface RunSqlOptions {
  /** Where the paths of sources and sinks begin. */
  readonly folder: string;
  readonly checkpoints?: string;
  readonly tell?: (text: string) => void;
  /** Called when the queries are open and about to run. */
  readonly onOpen?: (queries: readonly LocalQuery[]) => void;
}

export interface RunSqlResult {
  readonly printed: string;
  readonly queries: readonly LocalQuery[];
}

export async function runSql(text: string, options: RunSqlOptions): Promise<RunSqlResult> {
  const { folder, checkpoints, tell } = options;
  let printed = "";
  const connectors = createLocalConnectors({
    sourceDir: folder,
    sinkDir: folder,
    ...(tell === undefined ? {} : { tell }),
    print: (_, rows) => {
      printed += rows;
      return undefined;
    },
  });
  const queries: LocalQuery[] = [];
  try {
    const explained = (answer: string): void => {
      printed += `${answer}\n`;
    };
    for (const { plan } of planFile(text, defaultDialect, { explained })) {
      const query = new LocalQuery({
        plan,
        connectors,
        clock: realClock,
        checkpoints:
          checkpoints === undefined ? undefined : { directory: checkpoints, files: realFiles },
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
