/**
 * Plans on a thread of its own, which starts with the first plan, so that no session waits for a
 * large statement (SC20). Plans are made one after the other. One that takes too long costs the
 * thread, which the next plan replaces; so does one that needs more memory than the thread may
 * have.
 *
 *   At most `waitingMax` plans are waited for; one more is refused with `overloaded`.
 *   Definitions travel to the thread only when their version has changed.
 */
import "../error-codes.ts";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { siblingModule } from "../../../../ground/kernel/node/sibling-module.ts";
import { type Peer, startThread } from "../../../../ground/threads/index.ts";
import type { CatalogSnapshot, Planned, PlannerInput, StreamPlanner } from "../core/planner.ts";
import type { PlanningOptions, PlanningThread } from "./planner-talk.ts";

export interface ThreadPlannerOptions extends Partial<PlanningOptions> {
  readonly clock: Clock;
  /** How many plans may wait, besides the one that is made. */
  readonly waitingMax?: number;
}

const planMsMax = 10_000;
const waitingMaxDefault = 64;
const heapMegabytesMax = 512;

/** What the thread knows. */
interface Started {
  readonly link: Peer<PlanningThread>;
  version: number | undefined;
}

export class ThreadPlanner implements StreamPlanner {
  readonly #clock: Clock;
  readonly #waitingMax: number;
  readonly #options: PlanningOptions;
  #thread: Started | undefined;
  /** Resolves when the plans so far are made. */
  #turn: Promise<unknown> = Promise.resolve();
  #count = 0;
  #isClosed = false;

  constructor({
    clock,
    waitingMax = waitingMaxDefault,
    dialect = "capstan",
  }: ThreadPlannerOptions) {
    this.#clock = clock;
    this.#options = { dialect };
    this.#waitingMax = waitingMax;
  }

  async plan(
    statements: readonly PlannerInput[],
    snapshot: CatalogSnapshot,
    signal: AbortSignal,
  ): Promise<readonly Planned[]> {
    if (this.#count > this.#waitingMax) {
      const message = `${this.#waitingMax} statements wait to be planned`;
      throw new OperatingError("overloaded", "backoff", message, { hint: "Try again." });
    }
    this.#count += 1;
    const made = this.#turn.then(() => this.#make(statements, snapshot, signal));
    this.#turn = made.then(
      () => undefined,
      () => undefined,
    );
    void this.#turn.then(() => {
      this.#count -= 1;
    });
    return await untilAborted(made, signal);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#thread?.link.stop();
  }

  async #make(
    statements: readonly PlannerInput[],
    { tables, topology, held = [], ...definitions }: CatalogSnapshot,
    signal: AbortSignal,
  ): Promise<readonly Planned[]> {
    if (signal.aborted) throw cancelled();
    const thread = this.#started();
    const isKnown = thread.version === definitions.version;
    const late = new OperatingError(
      "deadline_exceeded",
      "never",
      `planning took longer than ${planMsMax / 1_000} s`,
      { hint: "Make the statement simpler, or split it by views." },
    );
    const timer = this.#clock.after(planMsMax, () => {
      this.#forget(thread);
      void thread.link.kill(late);
    });
    try {
      thread.version = definitions.version;
      const request = { statements, tables, topology, held };
      return await thread.link.ask("plan", {
        ...request,
        definitions: isKnown ? undefined : definitions,
      });
    } finally {
      timer.cancel();
    }
  }

  #started(): Started {
    if (this.#isClosed) {
      throw new OperatingError("shutting_down", "backoff", "the planner is closed");
    }
    if (this.#thread !== undefined) return this.#thread;
    const link = startThread<PlanningThread>({
      module: siblingModule(import.meta.url, "./planning-thread"),
      options: this.#options,
      clock: this.#clock,
      keepsAlive: "asked",
      lost: ({ message }) =>
        new OperatingError(
          "query_too_large",
          "never",
          `the statement could not be planned: the planning thread ended (${message})`,
        ),
      worker: { resourceLimits: { maxOldGenerationSizeMb: heapMegabytesMax } },
    });
    const thread: Started = { link, version: undefined };
    void link.failure.then(() => this.#forget(thread));
    this.#thread = thread;
    return thread;
  }

  /** The next plan starts another thread. */
  #forget(thread: Started): void {
    if (this.#thread === thread) this.#thread = undefined;
  }
}

/** Who gave up waits no longer; what is made for it then counts until it is over. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(cancelled());
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  work.catch(() => undefined);
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

function cancelled(): OperatingError {
  return new OperatingError("cancelled", "never", "the request was given up");
}
