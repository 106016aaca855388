/** The entry point of a worker: a context, the parts, start, stop. The logic is in the parts. */

import { createStatementsWorkerPart } from "../data/lake/index.ts";
import type { WorkerKind, WorkerPart } from "../data/parts/index.ts";
import { OperatingError } from "../ground/kernel/errors.ts";
import type { StopReason } from "../ground/process/index.ts";
import {
  runStopSteps,
  stopRequested,
  stopStep,
  stopStepsOf,
  tellSupervisor,
} from "../ground/process/index.ts";
import { createAskWorkerPart } from "../kinds/ask/index.ts";
import { createLoadWorkerPart } from "../kinds/load/index.ts";
import { createRefreshWorkerPart, watchedRefreshTables } from "../kinds/refresh/index.ts";
import { createStreamWorkerPart } from "../kinds/stream/index.ts";
import { type OpenedWorker, openWorker } from "./open-worker.ts";
import type { WorkerOptions } from "./options.ts";
import { serveWorker } from "./serve-worker.ts";

/** Adding a kind of work adds one line here. */
export const workerKinds: readonly WorkerKind<WorkerOptions>[] = [
  { createPart: createStatementsWorkerPart },
  { createPart: createAskWorkerPart },
  { createPartWithStore: createRefreshWorkerPart, watched: watchedRefreshTables },
  { createPartWithStore: createLoadWorkerPart },
  { createPart: createStreamWorkerPart },
];

/** Resolves with the reason when it has stopped. Throws when the cluster refuses the worker. */
export async function runWorker(
  options: WorkerOptions,
  allKinds: typeof workerKinds = workerKinds,
): Promise<StopReason> {
  const asked = stopRequested();
  const watched = Object.assign({}, ...allKinds.map((kind) => kind.watched));
  const { context, parts: ground } = await openWorker(options, watched);
  const kinds = await partsOf(context, options, allKinds);
  const { logger, clock } = context;
  const served = await serveWorker(context, options, kinds);
  const { node } = served;
  for (const part of kinds) part.start?.(node);
  node.start();
  logger.info(served.shown, "listening");
  await tellSupervisor({ kind: "ready", url: served.url });

  const failures = kinds.flatMap(({ failure }) => failure ?? []);
  const reason = await Promise.race([asked, served.refused, ...failures]);
  const failed = reason instanceof OperatingError;
  logger.info({ reason: failed ? reason.code : reason }, "stopping");
  // Without a supervisor or a cluster, nobody would fetch the results of a drain.
  const drainMs = reason === "SIGTERM" || reason === "SIGINT" ? options.drainTimeout * 1000 : 0;
  const drain = stopStep("drain", drainMs + 1_000, () =>
    node.drain(
      drainMs,
      kinds.flatMap(({ drained }) => drained ?? []),
    ),
  );
  await runStopSteps(stopStepsOf([...ground, ...kinds, ...served.parts], drain), clock, logger);
  logger.info({}, "stopped");
  if (failed) throw reason;
  return reason;
}

async function partsOf(
  context: OpenedWorker["context"],
  options: WorkerOptions,
  kinds: typeof workerKinds,
): Promise<readonly WorkerPart[]> {
  const parts: WorkerPart[] = [];
  for (const { createPart, createPartWithStore } of kinds) {
    if (createPart !== undefined) parts.push(await createPart(context, options));
    if (createPartWithStore === undefined || !("store" in context)) continue;
    parts.push(await createPartWithStore(context, options));
  }
  return parts;
}
