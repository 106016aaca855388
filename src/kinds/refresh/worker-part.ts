/** The worker's part of dynamic tables: it claims and computes refreshes and parts of them. */

import type { StoreOfWorker, WorkerContext, WorkerPart } from "../../data/parts/index.ts";
import { stopStep } from "../../ground/process/index.ts";
import { isAbleTo, type WorkerNode } from "../../ground/work/index.ts";
import { RefreshLoop } from "./core/index.ts";
import { createLakeRefresher } from "./refresh/lake-refresher.ts";
import { createPartRunner, readAbility } from "./refresh/refresh-parts.ts";
import { StoreRefreshClaims } from "./store/store-refresh-claims.ts";
import { StoreSubtaskClaims } from "./store/store-subtask-claims.ts";

export interface RefreshWorkerOptions {
  /** Full refreshes that read at least this many rows are split among workers. */
  readonly splitRows?: number;
  /** A dynamic table whose refreshes fail for this many milliseconds is suspended. */
  readonly suspendAfter?: number;
}

export async function createRefreshWorkerPart(
  context: WorkerContext & StoreOfWorker,
  options: RefreshWorkerOptions,
): Promise<WorkerPart> {
  const claims = createClaims(context, options);
  await claims.expireWorker(context.workerId, "the worker started anew");
  let loop: RefreshLoop | undefined;
  return {
    name: "refresh",
    start(node) {
      loop = createLoop(context, options, claims, node);
      loop.start();
    },
    quiesce: [stopStep("stop refreshes", 5_000, async () => await loop?.stop())],
  };
}

function createClaims(
  { store, catalog, prng }: WorkerContext & StoreOfWorker,
  { suspendAfter }: RefreshWorkerOptions,
): StoreRefreshClaims {
  return new StoreRefreshClaims(store, {
    prng: prng.fork("claims"),
    pins: catalog,
    ...(suspendAfter === undefined ? {} : { suspendAfterMs: suspendAfter }),
  });
}

function createLoop(
  context: WorkerContext & StoreOfWorker,
  { splitRows }: RefreshWorkerOptions,
  claims: StoreRefreshClaims,
  node: WorkerNode,
): RefreshLoop {
  const { workerId, store, health, room, clock, logger } = context;
  const ability = readAbility();
  const split = { ability, ...(splitRows === undefined ? {} : { rowsMin: splitRows }) };
  const shared = { ...context, prng: context.prng.fork("refresh") };
  const refresher = createLakeRefresher({ ...shared, split });
  const runner = createPartRunner(shared, ability);
  return new RefreshLoop({
    workerId,
    claims,
    parts: {
      claims: new StoreSubtaskClaims(store, { prng: context.prng.fork("subtasks") }),
      runner: { ability, run: (...part) => room.noting(runner.run(...part)) },
    },
    refresher: { refresh: (...claimed) => room.noting(refresher.refresh(...claimed)) },
    isAble: () => isAbleTo("refreshes", health, node),
    onPoke: (listener) => {
      const stops = [store.onPoke(listener), health.onChange(listener)];
      return () => {
        for (const stop of stops) stop();
      };
    },
    clock,
    prng: context.prng.fork("polls"),
    logger,
  });
}
