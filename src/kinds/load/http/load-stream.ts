/** `/ws/test/{run_id}`: one RUN_UPDATE a second, read-only. Rules: AP43 and AP44. */

import { z } from "zod";
import type { ApiApp, HttpContext } from "../../../ground/http/index.ts";
import { problemOf } from "../../../ground/http/index.ts";
import { type Clock, sleep } from "../../../ground/kernel/clock.ts";
import { messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import type { RunId } from "../core/ids.ts";
import { isTerminal } from "../core/run-state.ts";
import type { RunUpdate } from "../core/run-update.ts";
import type { LoadService } from "../service/load-service.ts";
import { runOf } from "./load-schemas.ts";

/** The part of the WebSocket used here. */
interface Socket {
  readonly bufferedAmount: number;
  send(text: string): void;
  close(code: number, reason: string): void;
  on(event: "close" | "error" | "message", listener: () => void): unknown;
}

const everyMs = 1_000;
const bufferedBytesMax = 1024 ** 2;
const policyViolation = 1008;
const normal = 1000;
const goingAway = 1001;

export async function installLoadStream(
  app: ApiApp,
  load: LoadService,
  { streams, clock, logger }: HttpContext,
): Promise<void> {
  await app.register((scope: ApiApp, _options, registered) => {
    scope.get(
      "/ws/test/:run_id",
      {
        websocket: true,
        config: { access: "read" },
        exposeHeadRoute: false,
        schema: { hide: true, params: z.object({ run_id: z.string().max(128) }) },
        preValidation: async (request) => streams.checkRoom(request),
      },
      async (socket: Socket, request) => {
        const { run_id: id } = request.params as { run_id: string };
        const over = streams.track(request);
        socket.on("close", () => over.abort());
        socket.on("error", () => over.abort());
        over.signal.addEventListener("abort", () => socket.close(goingAway, "ended"), {
          once: true,
        });
        try {
          await follow(load, runOf({ id }), socket, clock, over.signal);
          socket.close(normal, "the run has ended");
        } catch (thrown) {
          const { code, message } = problemOf(thrown, request.id);
          if (!(thrown instanceof OperatingError)) {
            logger.error({ request_id: request.id, error: messageOf(thrown) }, "stream ended");
          }
          socket.close(policyViolation, `${code}: ${message}`.slice(0, 120));
        } finally {
          over.abort();
        }
      },
    );
    registered();
  });
}

async function follow(
  load: LoadService,
  runId: RunId,
  socket: Socket,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  let lastLog = 0;
  let wasProcessing = false;
  while (!signal.aborted) {
    const update = await load.watch(runId, lastLog);
    if (socket.bufferedAmount <= bufferedBytesMax) {
      const shown: RunUpdate = wasProcessing ? update : withProcessing(update);
      wasProcessing ||= shown.phase === "PROCESSING";
      lastLog = update.logs.at(-1)?.sequence ?? lastLog;
      socket.send(JSON.stringify({ event: "RUN_UPDATE", data: shown }));
      if (isOver(update) && shown === update) return;
    }
    // All viewers read at the same moments, so that they share a reading.
    await sleep(clock, everyMs - (clock.nowMs() % everyMs), signal);
  }
}

/** Shows PROCESSING once for a run that completed between two updates. */
function withProcessing(update: RunUpdate): RunUpdate {
  if (update.status !== "COMPLETED" || update.phase === "PROCESSING") return update;
  const phase = "PROCESSING";
  return { ...update, phase, run: { ...update.run, phase } };
}

function isOver({ status, enrichment_status: enrichment }: RunUpdate): boolean {
  return isTerminal(status) && enrichment !== "PENDING" && enrichment !== "RUNNING";
}
