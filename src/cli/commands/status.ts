import type { StatusBody } from "../../faces/api/index.ts";
import type { CommandContext } from "../../ground/command/context.ts";
import { formatCount, formatDuration } from "../../ground/command/output/format.ts";
import { formatFields } from "../../ground/command/output/terminal.ts";
import { printable } from "../../ground/command/output/terminal-text.ts";

export async function runStatus({ client, terminal, json }: CommandContext): Promise<void> {
  const status = await client.json<StatusBody>("/api/v1/status");
  if (json) {
    terminal.out(`${JSON.stringify(status)}\n`);
    return;
  }
  const { paint } = terminal;
  const { workers, queries, lease, store } = status;
  const active = `${workers.active} active`;
  const unreachable = workers.unreachable === 0 ? "" : `, ${workers.unreachable} unreachable`;
  const draining = workers.draining === 0 ? "" : `, ${workers.draining} draining`;
  terminal.out(
    formatFields(
      [
        ["Capstan", `${status.version} at ${client.url}, up ${formatDuration(status.uptime_ms)}`],
        ["Role", roleText(status, client.url)],
        [
          "Lease",
          lease === null ? "nobody holds it" : printable(`${lease.holder}, epoch ${lease.epoch}`),
        ],
        ["Store", store === null ? "none" : `${store.dialect}, schema ${store.schema_version}`],
        [
          "Workers",
          `${workers.active === 0 ? paint.red(active) : paint.green(active)}${paint.red(unreachable)}${paint.yellow(draining)}`,
        ],
        [
          "Queries",
          `${queries.running} running, ${queries.queued} queued; ${formatCount(queries.completed_total, "done", "done")}, ${queries.failed_total} failed since the start`,
        ],
        ...filesRow(status.stored_files),
        ...status.parts
          .filter(({ state }) => state !== "ok")
          .map(({ name, state, reason = "" }): [string, string] => [
            printable(name),
            `${state === "failed" ? paint.red(state) : paint.yellow(state)}: ${printable(reason)}`,
          ]),
      ],
      paint,
    ),
  );
}

/** The part `stored_data` reports damage. */
function filesRow(files: StatusBody["stored_files"]): readonly [string, string][] {
  const unverified = files?.unverified ?? 0;
  return unverified === 0 ? [] : [["Files", `${formatCount(unverified, "file")} not verified yet`]];
}

function roleText({ role, lease }: StatusBody, url: string): string {
  if (role === "leader") return "leader";
  if (role === "query_api") return "query-api";
  const leader = lease?.api_url ?? "";
  return leader === "" || leader === url ? "standby" : printable(`standby; ${leader} leads`);
}
