/** Loads or resets a template's data at the target. Rules: RD1 and RD2. */
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { TargetConfig } from "../core/scenario.ts";
import type { TargetFactory } from "./ports.ts";

export async function runDataSql(
  openTarget: TargetFactory,
  config: TargetConfig,
  password: string | null,
  which: "loadSql" | "resetSql",
  signal: AbortSignal,
): Promise<void> {
  const target = await openTarget(config, password, "capstan_load:data");
  try {
    for (const [at, sql] of config[which].entries()) {
      try {
        await target.run(sql, [], signal);
      } catch (thrown) {
        throw placed(which, at, thrown);
      }
    }
  } finally {
    await target.close().catch(() => undefined);
  }
}

/** RD2 */
function placed(which: "loadSql" | "resetSql", at: number, thrown: unknown): unknown {
  if (!(thrown instanceof OperatingError)) return thrown;
  const { code, retry, message, hint } = thrown;
  const name = which === "loadSql" ? "load_sql" : "reset_sql";
  const options = hint === undefined ? {} : { hint };
  return new OperatingError(code, retry, `target.${name}[${at}]: ${message}`, options);
}
