/**
 * The coordinator of continuous queries, in real processes unless a part says otherwise. Parts, for
 * `--only`:
 *
 *   create    from CREATE QUERY to RUNNING, for a keyed window over two workers into a lake table
 *   requests  catalog requests a second, on SQLite and on Postgres
 */
import { benchCreate } from "./coordinator/create.ts";
import { benchRequests } from "./coordinator/requests.ts";
import { type BenchOptions, checkPart, type Report } from "./report.ts";

const parts: readonly [
  name: string,
  run: (options: BenchOptions, report: Report) => Promise<void>,
][] = [
  ["create", benchCreate],
  ["requests", benchRequests],
];

export async function benchCoordinator(options: BenchOptions, report: Report): Promise<void> {
  checkPart(
    options,
    parts.map(([name]) => name),
  );
  for (const [name, run] of parts) {
    if (options.only !== undefined && options.only !== name) continue;
    report.say(`coordinator: ${name}`);
    await run(options, report);
  }
}
