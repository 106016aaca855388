/**
 * How a process of ours ends: asked to (a signal, or its supervisor gone), by steps that each have a
 * timeout, and by force when even that does not end it.
 *
 *   LC1  The steps run in order, each at most for its timeout; a step that fails or hangs does not stop the next.
 *   LC2  A second signal ends the process at once.
 *   LC3  A supervised process does not outlive its supervisor, and leaves Ctrl-C to it.
 *   LC4  A process that `npm start` started does not outlive npm: npm passes signals to its shell only, and the shell
 *        ends without passing them on.
 */
import type { Clock } from "../kernel/clock.ts";
import { messageOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { realClock } from "../kernel/node/real-clock.ts";

export interface StopStep {
  readonly name: string;
  readonly timeoutMs: number;
  run(): Promise<void>;
}

export type StopReason = "SIGINT" | "SIGTERM" | "SIGHUP" | "supervisor gone" | "dropped";

/** Messages from a supervised process to its supervisor. */
export type ChildMessage =
  | { readonly kind: "ready"; readonly url: string }
  | {
      readonly kind: "failed";
      readonly code: string;
      readonly message: string;
      readonly hint: string | undefined;
      /** `true`: starting it again would fail in the same way. */
      readonly final: boolean;
    };

/** Set for the children of `capstan up`. */
export const supervisedEnv = "CAPSTAN_SUPERVISED";
/** Set by the launcher, when it had to find a newer Node. */
export const launchedEnv = "CAPSTAN_LAUNCHED";

export function isSupervised(): boolean {
  return process.env[supervisedEnv] === "1" && process.send !== undefined;
}

/** Resolves when it is on its way: what ends right after would otherwise take it along. */
export async function tellSupervisor(message: ChildMessage): Promise<void> {
  if (!isSupervised() || !process.connected) return;
  await new Promise<void>((resolve) => {
    process.send?.(message, undefined, undefined, () => resolve());
  });
}

/** Resolves when the process is asked to end. A second request ends it without ceremony (LC2). */
export function stopRequested(): Promise<StopReason> {
  return new Promise((resolve) => {
    let asked = false;
    const ask = (reason: StopReason, exitCode: number): void => {
      if (asked) process.exit(exitCode);
      asked = true;
      resolve(reason);
    };
    const supervised = isSupervised();
    process.on("SIGTERM", () => ask("SIGTERM", 143));
    process.on("SIGHUP", () => ask("SIGHUP", 129));
    // A terminal sends Ctrl-C to the supervisor and to its children at the same time; the supervisor decides.
    process.on("SIGINT", () => supervised || ask("SIGINT", 130));
    const orphaned = (): void => {
      if (!asked) ask("supervisor gone", 1);
    };
    if (supervised || process.env[launchedEnv] === "1") process.on("disconnect", orphaned);
    if (process.env.npm_lifecycle_event !== undefined) watchParent(process.ppid, orphaned); // LC4
  });
}

const parentCheckMs = 500;

/** An orphan is given to another parent. */
function watchParent(parent: number, onGone: () => void): void {
  realClock.after(parentCheckMs, () => {
    if (process.ppid === parent) watchParent(parent, onGone);
    else onGone();
  });
}

/** LC1. */
export async function runStopSteps(
  steps: readonly StopStep[],
  clock: Clock,
  logger: Logger,
): Promise<void> {
  for (const step of steps) {
    const startMs = clock.nowMs();
    const outcome = await withTimeout(step, clock);
    const fields = { step: step.name, duration_ms: Math.round(clock.nowMs() - startMs) };
    if (outcome === "done") logger.debug(fields, "shutdown step done");
    else logger.warn({ ...fields, outcome }, "shutdown step did not end well; going on");
  }
}

async function withTimeout(step: StopStep, clock: Clock): Promise<string> {
  return await new Promise((resolve) => {
    const timer = clock.after(step.timeoutMs, () => resolve("timed out"));
    step.run().then(
      () => {
        timer.cancel();
        resolve("done");
      },
      (thrown: unknown) => {
        timer.cancel();
        resolve(messageOf(thrown));
      },
    );
  });
}

/** An error nobody expected ends the process, with its stack in the log; a supervisor starts it again. */
export function dieOnBug(logger: Logger): void {
  process.on("uncaughtException", (thrown: unknown) => {
    logger.error(
      { error: messageOf(thrown), stack: thrown instanceof Error ? (thrown.stack ?? "") : "" },
      "unexpected error; the process ends",
    );
    process.exit(70);
  });
}
