/** A coordinator, or a query-api: a context, the parts, start, stop. What they do is elsewhere. */

import { showLakeLocation } from "../data/lake/index.ts";
import type { ControllerContext, ControllerPart, CoordinatorContext } from "../data/parts/index.ts";
import { createSqlPart, createStatementsPart } from "../data/statements/index.ts";
import { OperatingError } from "../ground/kernel/errors.ts";
import {
  runStopSteps,
  stopRequested,
  stopStep,
  stopStepsOf,
  tellSupervisor,
} from "../ground/process/index.ts";
import { createAskPart, createAskReplicaPart } from "../kinds/ask/index.ts";
import { SegmentCatalog } from "../kinds/ask/metrics/index.ts";
import { createLoadPart } from "../kinds/load/index.ts";
import { createRefreshPart } from "../kinds/refresh/index.ts";
import { openController } from "./open-controller.ts";
import { registerParts } from "./open-tables.ts";
import type { ControllerOptions } from "./options.ts";
import { serveApi } from "./serve-api.ts";

/** Resolves when the process was asked to stop and has stopped. */
export async function runController(options: ControllerOptions): Promise<void> {
  const stopping = stopRequested();
  const { context, parts: ground } = await openController(options);
  const kinds = "store" in context ? await partsOf(context, options) : partsWithoutStore(context);
  const { logger, clock, role, version, node } = context;
  const api = await serveApi(context, options, kinds);
  const parts = [...ground, ...kinds, api];
  for (const part of kinds) part.start?.();
  node.start();
  const shown = "store" in context ? { store: context.store.dialect, lake: lakeOf(context) } : {};
  logger.info({ url: api.url, role, version, ...shown }, "listening");
  await tellSupervisor({ kind: "ready", url: api.url });

  const failures = kinds.flatMap(({ failure }) => failure ?? []);
  const reason = await Promise.race([stopping, ...failures]);
  const failed = reason instanceof OperatingError;
  logger.info({ reason: failed ? reason.message : reason }, "stopping");
  // Without its threads or a supervisor there is nobody to finish for.
  const drainMs = failed || reason === "supervisor gone" ? 0 : options.drainTimeout * 1000;
  const drain = stopStep("drain", drainMs + 5_000, () => node.stop({ drainMs }));
  await runStopSteps(stopStepsOf(parts, drain), clock, logger);
  logger.info({}, "stopped");
  if (failed) throw reason;
}

/** One line for each kind of work. */
async function partsOf(
  context: CoordinatorContext,
  options: ControllerOptions,
): Promise<readonly ControllerPart[]> {
  return registerParts(context, [
    createStatementsPart(context),
    createRefreshPart(context, options),
    await createLoadPart(context, options),
    context.role === "coordinator"
      ? createAskPart(context, options)
      : createAskReplicaPart(context, new SegmentCatalog(context)),
  ]);
}

/** Of a query-api that finds its workers without a store. */
function partsWithoutStore(context: ControllerContext): readonly ControllerPart[] {
  return [createSqlPart(context), createAskReplicaPart(context)];
}

function lakeOf({ places }: CoordinatorContext): string {
  return showLakeLocation(places.tables);
}
