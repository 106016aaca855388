/** The five mixes, on a table of their own; and the demo, which needs nothing but Capstan. */
import type { ReadyTemplate } from "./ready-template.ts";

const url = "postgres://localhost/postgres";

const mixes: readonly [preset: string, name: string, description: string][] = [
  ["READ_ONLY", "Read only", "80 % lookups by key, 20 % ranges of a hundred rows."],
  ["READ_HEAVY", "Read heavy", "80 % reads; inserts and updates by halves for the rest."],
  ["MIXED", "Mixed", "Half reads, half writes."],
  ["WRITE_HEAVY", "Write heavy", "80 % writes: inserts and updates by halves."],
  ["WRITE_ONLY", "Write only", "Inserts and updates by halves."],
];

export const mixTemplates: readonly ReadyTemplate[] = mixes.map(([preset, name, description]) => ({
  template_id: `mix-${preset.toLowerCase().replace("_", "-")}`,
  template_name: name,
  description,
  target: url,
  workload: { preset, concurrent_connections: 8 },
}));

export const demoTemplate: ReadyTemplate = {
  template_id: "demo",
  template_name: "Demo",
  description:
    "A minute of reads and a few writes on a SQLite file in the data directory. Nothing else is needed: press Prepare, then Start.",
  target: "sqlite:load-demo.db",
  workload: {
    read_percent: 90,
    write_percent: 10,
    concurrent_connections: 4,
    think_time_ms: 2,
    duration_seconds: 60,
    warmup_seconds: 5,
  },
  slos: ["p95 < 50 ms", "error_rate < 1 %", "qps > 100"],
};
