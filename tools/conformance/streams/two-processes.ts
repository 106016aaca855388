/** Runs plans split over two processes that are started once, with a real exchange between them. */
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { OperatingError } from "../../../src/ground/kernel/errors.ts";
import { realClock } from "../../../src/ground/kernel/node/real-clock.ts";
import { Peer, startProcessLink } from "../../../src/ground/threads/index.ts";
import {
  DialectError,
  type DialectErrorNumber,
  type Plan,
} from "../../../src/kinds/stream/language/core/index.ts";
import type { RunPlan } from "./run-script.ts";
import type { StreamProcess } from "./stream-process.ts";

const processCount = 2;

export interface TwoProcesses {
  readonly run: RunPlan;
  /** What the exchange did for all plans together. */
  readonly totals: {
    rowsCrossed: number;
    /** Plans with keyed fragments that received rows at every place, and such plans in all. */
    spreadOverAll: number;
    keyed: number;
  };
  /** The CPU time of both processes so far. */
  cpuMs(): Promise<number>;
  stop(): Promise<void>;
}

export async function startTwoProcesses(): Promise<TwoProcesses> {
  const token = randomBytes(16).toString("hex");
  const module = fileURLToPath(new URL("./stream-process.ts", import.meta.url));
  const peers = Array.from({ length: processCount }, () => {
    const command = [process.execPath, "--disable-warning=ExperimentalWarning", module] as const;
    const { PATH = "", HOME = "" } = process.env;
    return new Peer<StreamProcess>(startProcessLink(command, { PATH, HOME }), {
      clock: realClock,
      open: { token },
      lost: (cause) => new OperatingError("query_failed", "never", cause.message, { cause }),
    });
  });
  const addresses = await Promise.all(peers.map((peer) => peer.ask("address", undefined)));
  const totals = { rowsCrossed: 0, spreadOverAll: 0, keyed: 0 };
  let queries = 0;

  async function run(plan: Plan, testdata: string): Promise<void> {
    queries += 1;
    const query = `q${queries}`;
    const failures: unknown[] = [];
    const running = peers.map((peer, place) =>
      peer
        .ask("run", { query, plan, place, addresses, testdata })
        .catch(async (thrown: unknown) => {
          failures.push(thrown);
          // The others wait for what the failed one would have sent.
          if (failures.length === 1) {
            await Promise.allSettled(peers.map((other) => other.ask("end", query)));
          }
          return undefined;
        }),
    );
    const results = await Promise.all(running);
    if (failures.length > 0) throw asDialectError(failures);
    totals.rowsCrossed += results.reduce((sum, result) => sum + (result?.rowsCrossed ?? 0), 0);
    const keyed = results.flatMap((result) => Object.values(result?.keyedRows ?? {}));
    if (keyed.length === 0) return;
    totals.keyed += 1;
    const byPlace = results.map((result) =>
      Object.values(result?.keyedRows ?? {}).reduce((sum, rows) => sum + rows, 0),
    );
    if (byPlace.every((rows) => rows > 0)) totals.spreadOverAll += 1;
  }

  return {
    run,
    totals,
    cpuMs: async () => {
      const each = await Promise.all(peers.map((peer) => peer.ask("cpuMs", undefined)));
      return each.reduce((sum, cpuMs) => sum + cpuMs, 0);
    },
    stop: async () => {
      await Promise.all(peers.map((peer) => peer.stop()));
    },
  };
}

/** The error with the smallest number that is no consequence of another one. */
function asDialectError(failures: readonly unknown[]): unknown {
  const numbered = failures.filter(
    (failure) => failure instanceof OperatingError && failure.number !== undefined,
  ) as OperatingError[];
  const cause = numbered.find(({ number }) => number !== 4001) ?? numbered[0];
  if (cause?.number === undefined) return failures[0];
  return new DialectError(cause.number as DialectErrorNumber, cause.message);
}
