/**
 * How a process ends: when a signal asks for it or its supervisor is gone, by steps with timeouts
 * (PR4). A second signal ends it at once. A supervised process ends with its supervisor (PR9) and
 * leaves Ctrl-C to it. A process that `npm start` started ends with npm (PR11): npm passes signals
 * only to its shell, which ends without passing them on.
 */
import { type Clock, waitAtMost } from "../kernel/clock.ts";
import { messageOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { realClock } from "../kernel/node/real-clock.ts";

export interface StopStep {
  readonly name: string;
  readonly timeoutMs: number;
  run(): Promise<void>;
}

export type StopReason = "SIGINT" | "SIGTERM" | "SIGHUP" | "supervisor gone" | "dropped" | "closed";

/** Messages from a supervised process to its supervisor. */
export type ChildMessage =
  | { readonly kind: "ready"; readonly url: string }
  | {
      readonly kind: "failed";
      readonly code: string;
      readonly message: string;
      readonly hint: string | undefined;
      /** Whether starting the process again would fail in the same way. */
      readonly final: boolean;
    };

/** Set for the children of `capstan up`. */
export const supervisedEnv = "CAPSTAN_SUPERVISED";
/** Set by the launcher when it had to find a newer Node. */
export const launchedEnv = "CAPSTAN_LAUNCHED";

export function isSupervised(): boolean {
  return process.env[supervisedEnv] === "1" && process.send !== undefined;
}

/** Resolves when the message is sent; a process that exits earlier would lose it. */
export async function tellSupervisor(message: ChildMessage): Promise<void> {
  if (!isSupervised() || !process.connected) return;
  await new Promise<void>((resolve) => {
    process.send?.(message, undefined, undefined, () => resolve());
  });
}

/** Who ends what runs, and who is told that it is there. */
export interface Lifetime {
  readonly stopping: Promise<StopReason>;
  /** Called once, with the address. */
  ready(url: string): Promise<void>;
}

/** That of a process of our own. */
export function processLifetime(): Lifetime {
  return { stopping: stopRequested(), ready: (url) => tellSupervisor({ kind: "ready", url }) };
}

/** Resolves when the process is asked to end. A second request ends it at once. */
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
    // A terminal sends Ctrl-C to the supervisor and its children at the same time; the supervisor
    // decides.
    process.on("SIGINT", () => supervised || ask("SIGINT", 130));
    const orphaned = (): void => {
      if (!asked) ask("supervisor gone", 1);
    };
    if (supervised || process.env[launchedEnv] === "1") process.on("disconnect", orphaned);
    // PR11
    if (process.env.npm_lifecycle_event !== undefined) {
      watchParent(process.ppid, orphaned, () => asked);
    }
  });
}

const parentCheckMs = 500;

/** The operating system gives an orphan another parent. */
function watchParent(parent: number, onGone: () => void, isOver: () => boolean): void {
  realClock.after(parentCheckMs, () => {
    if (isOver()) return; // Otherwise the timer alone would keep the process alive.
    if (process.ppid === parent) watchParent(parent, onGone, isOver);
    else onGone();
  });
}

/** PR4 */
export async function runStopSteps(
  steps: readonly StopStep[],
  clock: Clock,
  logger: Logger,
): Promise<void> {
  for (const step of steps) {
    const startMs = clock.nowMs();
    const ended = step.run().then(() => "done", messageOf);
    const outcome = await waitAtMost(clock, step.timeoutMs, ended, "timed out");
    const fields = { step: step.name, duration_ms: Math.round(clock.nowMs() - startMs) };
    if (outcome === "done") logger.debug(fields, "shutdown step done");
    else logger.warn({ ...fields, outcome }, "shutdown step did not end well; going on");
  }
}

/** Logs an unexpected error with its stack and exits; a supervisor restarts the process. */
export function dieOnBug(logger: Logger): void {
  process.on("uncaughtException", (thrown: unknown) => {
    logger.error(
      { error: messageOf(thrown), stack: thrown instanceof Error ? (thrown.stack ?? "") : "" },
      "unexpected error; the process ends",
    );
    process.exit(70);
  });
}
