/** A process of its own, started with a limit on the size of files: says how the engine takes it. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { OperatingError } from "../../kernel/errors.ts";
import { never, startTestEngine } from "./test-engine.ts";

const dir = process.argv[2] ?? "";
const { engine, close } = await startTestEngine({ spoolDir: dir });
const path = join(dir, "result.parquet");
let outcome: object = {};
try {
  await engine.executeToParquet("SELECT hash(range) FROM range(1000000)", path, never);
} catch (thrown) {
  if (!(thrown instanceof OperatingError)) throw thrown;
  const files = readdirSync(dir).filter((name) => name !== "temp");
  outcome = { code: thrown.code, retry: thrown.retry, files };
}
const { rowCount } = await engine.executeToParquet("SELECT 1", path, never);
process.stdout.write(JSON.stringify({ ...outcome, later: rowCount }));
await close();
