/** The two waits of `capstan up`: for a free port, and until all processes are ready. */
import { once } from "node:events";
import { createServer } from "node:net";
import type { ApiClient } from "../../ground/command/client/api-client.ts";
import { Failure } from "../../ground/command/failure.ts";
import { type Clock, sleep } from "../../ground/kernel/clock.ts";
import { OperatingError } from "../../ground/kernel/errors.ts";
import { listenError } from "../../ground/process/index.ts";

/**
 * Children of a supervisor that was just killed hold the port until they have ended, so it waits a
 * little. Throws `port_in_use`.
 */
export async function waitUntilFree(
  host: string,
  port: number,
  clock: Clock,
  waitMsMax: number,
): Promise<void> {
  const deadlineMs = clock.nowMs() + waitMsMax;
  for (;;) {
    const server = createServer();
    server.listen(port, host);
    try {
      await once(server, "listening");
      server.close();
      await once(server, "close");
      return;
    } catch (thrown) {
      const error = listenError(thrown, host, port, "--port");
      const taken = error instanceof OperatingError && error.code === "port_in_use";
      if (!taken || clock.nowMs() >= deadlineMs) throw error;
    }
    await sleep(clock, 100);
  }
}

interface WorkersAnswer {
  readonly items: readonly { readonly worker_id: string; readonly state: string }[];
}

/** True when the coordinator leads and all `workers` are ACTIVE. False when aborted or too late. */
export async function waitUntilUp(
  client: ApiClient,
  workers: readonly string[],
  clock: Clock,
  waitMsMax: number,
  signal: AbortSignal,
): Promise<boolean> {
  const deadlineMs = clock.nowMs() + waitMsMax;
  while (!signal.aborted && clock.nowMs() < deadlineMs) {
    if (await isUp(client, workers, signal)) return true;
    await sleep(clock, 50, signal);
  }
  return false;
}

async function isUp(
  client: ApiClient,
  workers: readonly string[],
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await client.json("/readyz", { signal, silenceMsMax: 2_000 });
    const { items } = await client.json<WorkersAnswer>("/api/v1/workers?limit=1000", {
      signal,
      silenceMsMax: 2_000,
    });
    const active = new Set(
      items.filter(({ state }) => state === "ACTIVE").map(({ worker_id }) => worker_id),
    );
    return workers.every((name) => active.has(name));
  } catch (thrown) {
    if (thrown instanceof Failure || signal.aborted) return false; // Not ready yet.
    throw thrown;
  }
}
