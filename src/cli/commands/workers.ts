import type { WorkerBody } from "../../faces/api/index.ts";
import type { CommandContext } from "../../ground/command/context.ts";
import { formatBytes, formatDuration } from "../../ground/command/output/format.ts";
import { type Column, TableWriter } from "../../ground/command/output/table.ts";
import type { Paint } from "../../ground/command/output/terminal.ts";

interface WorkersPage {
  readonly items: readonly WorkerBody[];
  readonly next_page_token: string | null;
}

const columns: readonly Column[] = [
  { title: "NAME", align: "left" },
  { title: "STATE", align: "left" },
  { title: "WORK", align: "left" },
  { title: "CPU", align: "right" },
  { title: "MEMORY", align: "right" },
  { title: "RUNNING", align: "right" },
  { title: "QUEUED", align: "right" },
  { title: "RTT", align: "right" },
  { title: "ADDRESS", align: "left" },
  { title: "REASON", align: "left" },
];

export async function runWorkersList({ client, terminal, json }: CommandContext): Promise<void> {
  const table = new TableWriter(
    columns,
    {
      widthMax: 60,
      paintTitle: terminal.paint.bold,
      paintCell: (text, column) => (column === 1 ? paintState(text, terminal.paint) : text),
    },
    terminal.out,
  );
  const all: WorkerBody[] = [];
  let token: string | null = "";
  while (token !== null) {
    const after = token === "" ? "" : `&page_token=${encodeURIComponent(token)}`;
    const page: WorkersPage = await client.json(`/api/v1/workers?limit=500${after}`);
    for (const worker of page.items) {
      if (json) all.push(worker);
      else table.row(cellsOf(worker));
    }
    token = page.next_page_token;
  }
  if (json) terminal.out(`${JSON.stringify(all)}\n`);
  else table.end();
}

export type WorkerVerb = "drain" | "undrain" | "drop";

export async function runWorkerVerb(
  { client, terminal, json }: CommandContext,
  verb: WorkerVerb,
  name: string,
): Promise<void> {
  const path = `/api/v1/workers/${encodeURIComponent(name)}`;
  const answer =
    verb === "drop"
      ? await client.json(path, { method: "DELETE" })
      : await client.json(`${path}/${verb}`, { method: "POST" });
  if (json) terminal.out(`${JSON.stringify(answer)}\n`);
  else terminal.out(`${done[verb](name)}\n`);
}

const done: Readonly<Record<WorkerVerb, (name: string) => string>> = {
  drain: (name) => `${name} takes no new work and finishes what it has.`,
  undrain: (name) => `${name} takes work again.`,
  drop: (name) => `${name} is removed from the cluster.`,
};

function cellsOf(worker: WorkerBody): readonly string[] {
  const facts = worker.live?.facts ?? {};
  const rtt = worker.live?.rtt_ms ?? undefined;
  const cpu = numberFact(facts, "cpu_ratio");
  const memory = numberFact(facts, "memory_bytes");
  return [
    worker.worker_id,
    worker.state,
    admissionText(worker),
    cpu === undefined ? "-" : `${Math.round(cpu * 100)} %`,
    memory === undefined ? "-" : formatBytes(memory),
    facts.running_work ?? "-",
    facts.queue_depth ?? "-",
    rtt === undefined ? "-" : formatDuration(rtt),
    `${worker.host_name}:${worker.grpc_port}`,
    worker.state_reason,
  ];
}

function admissionText(worker: WorkerBody): string {
  if (worker.state !== "ACTIVE") return "-";
  if (worker.draining || worker.drain_requested) return "draining";
  return worker.accepting_work ? "accepting" : "refusing";
}

function paintState(text: string, paint: Paint): string {
  if (text.startsWith("ACTIVE")) return paint.green(text);
  return text.startsWith("UNREACHABLE") ? paint.red(text) : text;
}

function numberFact(facts: Readonly<Record<string, string>>, key: string): number | undefined {
  const value = Number(facts[key]);
  return facts[key] === undefined || Number.isNaN(value) ? undefined : value;
}
