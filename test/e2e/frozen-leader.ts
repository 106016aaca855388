/**
 * The leading coordinator is stopped (SIGSTOP) while it takes samples, another one takes over, and
 * the first wakes up. Every acknowledged sample is there once, whoever acknowledged it; the first
 * acknowledges nothing after it woke up.
 */
import assert from "node:assert/strict";
import { remoteWrite } from "./ask-cluster.ts";
import { type DataSeries, remoteWriteBody } from "./ask-data.ts";
import { type CapstanProcess, type Cluster, http, waitFor } from "./harness.ts";

/** A head has no samples older than two days: only segments have such times. */
const longAgoMs = 2 * 24 * 60 * 60_000;
/**
 * Only of a write that nobody answers: one that was given up too early might be acknowledged later,
 * and would be found without being expected.
 */
const writeMsMax = 120_000;

/** `replica` is the address of a query-api, if there is one. */
export async function runFrozenLeader(
  cluster: Cluster,
  startStandby: () => CapstanProcess,
  replica?: string,
): Promise<string> {
  const writer = new Writer();
  const leader = cluster.url;
  for (let index = 0; index < 5; index += 1) await writer.write(leader);
  const standby = startStandby();
  const second = await standby.url();
  assert.notEqual(await writer.write(second), 204, "a standby takes nothing in");
  if (replica !== undefined) await writer.check(replica);

  cluster.kill("coordinator", "SIGSTOP");
  const stoppedMs = performance.now();
  const asked = replica === undefined ? undefined : askReplica(replica);
  // Sent, and not yet read by anybody.
  const underWay = [writer.write(leader), writer.write(leader)];
  await waitFor("the standby to take samples in", async () =>
    (await writer.write(second)) === 204 ? true : undefined,
  );
  const takeoverMs = performance.now() - stoppedMs;
  for (let index = 0; index < 5; index += 1) assert.equal(await writer.write(second), 204);
  if (replica !== undefined) await writer.check(replica);
  const answered = await asked;

  cluster.kill("coordinator", "SIGCONT");
  const statuses = await Promise.all(underWay);
  assert.ok(!statuses.includes(204), `the old leader acknowledged something: ${statuses}`);
  for (let index = 0; index < 5; index += 1) assert.notEqual(await writer.write(leader), 204);
  assert.equal(await writer.write(second), 204);
  await writer.check(second);

  // The old one leads again: it reads what the second wrote, and nothing that it wrote itself in
  // between.
  await standby.stop();
  await waitFor("the first one to take samples in again", async () =>
    (await writer.write(leader)) === 204 ? true : undefined,
  );
  await writer.check(leader);
  const told = answered === undefined ? "" : `; a replica, asked at once: ${answered}`;
  return `taken over ${Math.round(takeoverMs)} ms after the leader was stopped${told}`;
}

interface Answer {
  readonly status: string;
  readonly error?: string;
  readonly data: {
    readonly result: readonly { readonly values: readonly [number, string][] }[];
  };
}

/**
 * Answers are expected where segments suffice; otherwise the successor's answer, or an error that
 * names the cause.
 */
async function askReplica(replica: string): Promise<string> {
  const startMs = performance.now();
  const passedMs = (): number => Math.round(performance.now() - startMs);
  const now = ask(replica, Date.now()).then(({ status, error }) => {
    if (status !== "success") assert.match(error ?? "", /leader_unreachable.*(leads|led)/);
    return `${status} after ${passedMs()} ms`;
  });
  const { status, error } = await ask(replica, Date.now() - longAgoMs);
  assert.equal(status, "success", error);
  const longAgo = `of times long ago ${passedMs()} ms`;
  return `${longAgo}, of now ${await now}`;
}

async function ask(url: string, timeMs: number): Promise<Answer> {
  const query = new URLSearchParams({
    query: "frozen_leader[10m]",
    time: String(timeMs / 1000),
  });
  return (await (await http(`${url}/api/v1/query?${query}`)).json()) as Answer;
}

/** Sends one sample after the other, each with a time and a value of its own. */
class Writer {
  readonly #acknowledged: number[] = [];
  readonly #startMs = Date.now() - 60_000;
  #next = 1;

  /** Returns the status; 0 without an answer in time. */
  async write(url: string): Promise<number> {
    const value = this.#next;
    this.#next += 1;
    const series: DataSeries = {
      labels: { __name__: "frozen_leader" },
      ts: Float64Array.of(this.#startMs + value * 10),
      values: Float64Array.of(value),
    };
    const patience = AbortSignal.timeout(writeMsMax);
    const status = await Promise.race([
      remoteWrite(url, remoteWriteBody([series])).catch(() => 0),
      new Promise<number>((resolve) => patience.addEventListener("abort", () => resolve(0))),
    ]);
    if (status === 204) this.#acknowledged.push(value);
    return status;
  }

  async check(url: string): Promise<void> {
    const found = await waitFor("an answer", async () => {
      const answer = await ask(url, Date.now() + 60_000).catch(() => undefined);
      return answer?.status === "success" ? answer.data.result : undefined;
    });
    const values = found.flatMap((series) => series.values.map(([, value]) => Number(value)));
    assert.deepEqual(values, this.#acknowledged);
  }
}
