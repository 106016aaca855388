/**
 * How soon a run's page has its answer, while the run goes on and when it is over; and what people
 * who watch it cost the coordinator.
 */
import { setTimeout as pause } from "node:timers/promises";
import { getJson, waitFor } from "../../test/e2e/harness.ts";
import { type BenchOptions, percentile, type Report } from "../report.ts";
import { cpuSecondsOf, LoadCluster } from "./load-cluster.ts";

const calls = 200;
const viewers = 10;
const windowMs = 8_000;
const answerMsMax = 50;

export async function benchApi({ rate }: BenchOptions, report: Report): Promise<void> {
  const world = await LoadCluster.start();
  try {
    await world.loadData();
    const id = await world.begin({
      templateId: "select-only",
      connections: 8,
      settings: [`qps=${rate}`, "warmup=1", "duration=60"],
    });
    await world.waitForPhase(id, "MEASUREMENT", 60_000);
    await reportViewers(world, id, report);
    await reportPage("page_during_a_run", world, id, report);
    await world.ended(id, 120_000);
    await reportPage("page_after_it", world, id, report);
  } finally {
    await world.stop();
  }
}

async function reportPage(
  metric: string,
  world: LoadCluster,
  id: string,
  report: Report,
): Promise<void> {
  const samples: number[] = [];
  for (let call = 0; call < calls; call += 1) {
    const startedMs = performance.now();
    await getJson(`${world.cluster.url}/api/tests/${id}`);
    samples.push(performance.now() - startedMs);
  }
  samples.sort((left, right) => left - right);
  const p99 = { value: percentile(samples, 0.99), atMost: answerMsMax };
  const others = { calls, p50_ms: percentile(samples, 0.5), worst_ms: samples.at(-1) };
  report.figure(metric, { p99_ms: p99 }, others);
}

/** The coordinator's CPU time in a second, with nobody watching and with ten. */
async function reportViewers(world: LoadCluster, id: string, report: Report): Promise<void> {
  const alone = await coordinatorCpu(world);
  const sockets = Array.from({ length: viewers }, () => {
    const url = `${world.cluster.url.replace("http", "ws")}/ws/test/${id}`;
    return new WebSocket(url, ["capstan"]);
  });
  let updates = 0;
  for (const socket of sockets) {
    socket.addEventListener("message", () => {
      updates += 1;
    });
  }
  await waitFor("every viewer's first update", () => (updates >= viewers ? true : undefined));
  const seen = updates;
  const watched = await coordinatorCpu(world);
  report.figure(
    "viewers",
    {},
    {
      viewers,
      updates_per_second: (updates - seen) / (windowMs / 1000),
      coordinator_cpu_percent: alone * 100,
      coordinator_cpu_percent_watched: watched * 100,
      cpu_ms_per_update: ((watched - alone) * windowMs) / (updates - seen),
    },
  );
  for (const socket of sockets) socket.close();
}

async function coordinatorCpu({ cluster }: LoadCluster): Promise<number> {
  const pid = cluster.pid("coordinator");
  const from = { cpu: cpuSecondsOf(pid), atMs: performance.now() };
  await pause(windowMs);
  return (cpuSecondsOf(pid) - from.cpu) / ((performance.now() - from.atMs) / 1000);
}
