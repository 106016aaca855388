/** The entry point of a coordinator and of a query-api. The logic is in the parts. */

import type { ControllerKind, ControllerPart } from "../data/parts/index.ts";
import { createSqlPart, createStatementsPart } from "../data/statements/index.ts";
import { OperatingError } from "../ground/kernel/errors.ts";
import {
  type Lifetime,
  processLifetime,
  runStopSteps,
  stopStep,
  stopStepsOf,
} from "../ground/process/index.ts";
import { createAskPart, createAskReplicaPart } from "../kinds/ask/index.ts";
import { createLoadPart } from "../kinds/load/index.ts";
import {
  createRefreshPart,
  readFilledTables,
  watchedRefreshTables,
} from "../kinds/refresh/index.ts";
import { streamKind } from "../kinds/stream/index.ts";
import { type OpenedController, openController } from "./open-controller.ts";
import { registerParts } from "./open-tables.ts";
import type { ControllerOptions } from "./options.ts";
import { serveApi } from "./serve-api.ts";

/** Adding a kind of work adds one line here. */
export const controllerKinds: readonly ControllerKind<ControllerOptions>[] = [
  { createPart: createStatementsPart, createPartWithoutStore: createSqlPart },
  { createPart: createRefreshPart, watched: watchedRefreshTables },
  { createPart: createLoadPart },
  streamKind(readFilledTables),
  { createPart: createAskPart, createPartWithoutStore: createAskReplicaPart },
];

/** Resolves when the process was asked to stop and has stopped. */
export async function runController(
  options: ControllerOptions,
  allKinds: typeof controllerKinds = controllerKinds,
  { stopping, ready }: Lifetime = processLifetime(),
): Promise<void> {
  const watched = Object.assign({}, ...allKinds.map((kind) => kind.watched));
  const channels = allKinds.flatMap((kind) => kind.channels ?? []);
  const { context, parts: ground } = await openController(options, { watched, channels });
  const kinds = await partsOf(context, options, allKinds);
  const { logger, clock, node } = context;
  const api = await serveApi(context, options, kinds);
  const parts = [...ground, ...kinds, api];
  for (const part of kinds) part.start?.();
  node.start();
  logger.info(api.shown, "listening");
  await ready(api.url);

  const failures = kinds.flatMap(({ failure }) => failure ?? []);
  const reason = await Promise.race([stopping, ...failures]);
  const failed = reason instanceof OperatingError;
  logger.info({ reason: failed ? reason.message : reason }, "stopping");
  // Without its threads or its supervisor, the process has no client that waits for the drain.
  const drainMs = failed || reason === "supervisor gone" ? 0 : options.drainTimeout * 1000;
  const drain = stopStep("drain", drainMs + 5_000, () => node.stop({ drainMs }));
  await runStopSteps(stopStepsOf(parts, drain), clock, logger);
  logger.info({}, "stopped");
  if (failed) throw reason;
}

/** Creates the parts in the order of `kinds`, so that a part can use what an earlier one opened. */
async function partsOf(
  context: OpenedController["context"],
  options: ControllerOptions,
  kinds: typeof controllerKinds,
): Promise<readonly ControllerPart[]> {
  const parts: ControllerPart[] = [];
  for (const { createPart, createPartWithoutStore } of kinds) {
    const part =
      "store" in context ? await createPart(context, options) : createPartWithoutStore?.(context);
    if (part !== undefined) parts.push(part);
  }
  return "store" in context ? registerParts(context, parts) : parts;
}
