/** Makes a template's data at the target, or takes them away. */
import type { Scenario } from "../core/scenario.ts";
import type { TargetFactory } from "../orchestrator/ports.ts";

export async function runDataSql(
  openTarget: TargetFactory,
  { target: config }: Scenario,
  password: string | null,
  which: "load_sql" | "reset_sql",
  signal: AbortSignal,
): Promise<void> {
  const target = await openTarget(config, password, "capstan_load:data");
  try {
    for (const sql of config[which]) await target.run(sql, [], signal);
  } finally {
    await target.close().catch(() => undefined);
  }
}
