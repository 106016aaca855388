/**
 * What a worker keeps of the queries that it has fragments of, from `register` until `unregister`,
 * whatever becomes of sessions. It decides; who hosts the fragments performs the effects in their
 * order and says what came of them. Rules: SD1 to SD4, SD7.
 *
 *   opening ──deployed──▶ open ──stop, unregister, a failure──▶ closing ──▶ closed
 *
 * One deployment or stop of a query is under way at a time. What is commanded meanwhile waits for
 * it: a stop while a run is opened is done as soon as it is open, and a `register` of a newer epoch
 * when the older one is gone.
 */
import type { FragmentSpec, QueryRun } from "../../run/core/index.ts";
import { CheckpointBook, type ToSay, type ToStore } from "./checkpoint-book.ts";
import {
  type FragmentError,
  type FragmentReport,
  factKeyOf,
  type StreamCommand,
} from "./commands.ts";
import { factTextOf } from "./fact-text.ts";
import type { KeeperEffect, KeeperEvent } from "./keeper-events.ts";

type Numbered = Extract<StreamCommand, { readonly command: number }>;
type Register = Extract<StreamCommand, { readonly kind: "register" }>;

/** A command whose answer waits for what is under way. */
interface Waiting {
  readonly session: string;
  readonly command: Numbered;
}

interface Kept {
  readonly run: QueryRun;
  readonly book: CheckpointBook;
  readonly fragments: Map<string, FragmentReport>;
  phase: "opening" | "open" | "closing" | "closed";
  isStarted: boolean;
  isDraining: boolean;
  /** Whether it is forgotten when it is closed. */
  isForgotten: boolean;
  /** What follows when it is forgotten. */
  next: Waiting | undefined;
  waiting: Waiting[];
  readonly failures: FragmentError[];
  /** Who triggered the newest checkpoint. */
  session: string | undefined;
}

/** How long the cause of a failure may come behind its effects. */
const causeMsMax = 500;
/** That an edge broke is the effect of something else, where anything else is known. */
const brokenEdge = 4001;
const waitingMax = 100;
/** A worker's facts are bounded, and these are not the only ones. */
const fragmentsMax = 5_000;

export class FragmentKeeper {
  readonly #kept = new Map<string, Kept>();
  #effects: KeeperEffect[] = [];

  step(event: KeeperEvent): readonly KeeperEffect[] {
    this.#effects = [];
    if (event.kind === "command") {
      this.#obey(event.session, event.command);
      return this.#effects;
    }
    const kept = this.#kept.get(event.run.query);
    if (kept !== undefined && kept.run.epoch === event.run.epoch) this.#hear(kept, event);
    return this.#effects;
  }

  /** The runs that have fragments which have not ended. */
  get live(): readonly QueryRun[] {
    return [...this.#kept.values()].filter((kept) => !isOver(kept)).map(({ run }) => run);
  }

  /** Whether no fragment is left here, not even one that has ended. */
  get isEmpty(): boolean {
    return this.#kept.size === 0;
  }

  /** The runs whose fragments have been started, and not been stopped. */
  get running(): readonly QueryRun[] {
    return [...this.#kept.values()]
      .filter(({ phase, isStarted }) => phase === "open" && isStarted)
      .map(({ run }) => run);
  }

  reports(query: string): readonly FragmentReport[] {
    return [...(this.#kept.get(query)?.fragments.values() ?? [])];
  }

  #obey(session: string, command: StreamCommand): void {
    const kept = this.#kept.get(command.query);
    if (command.kind === "triggerCheckpoint" || command.kind === "checkpointComplete") {
      if (kept?.run.epoch === command.epoch) this.#checkpoint(kept, session, command);
      return;
    }
    const waiting: Waiting = { session, command };
    const known = kept === undefined ? 0 : (kept.next?.command ?? kept.run).epoch;
    if (kept === undefined) this.#obeyUnknown(waiting);
    else if (known > command.epoch) {
      const message = `this worker knows epoch ${known} of the query`;
      this.#answer(waiting, { code: "stale_epoch", message });
    } else if (kept.waiting.length >= waitingMax) {
      this.#answer(waiting, { code: "overloaded", message: "too many commands wait" });
    } else this.#obeyKnown(kept, waiting);
  }

  /** Nothing is here, so everything is stopped and forgotten. */
  #obeyUnknown(waiting: Waiting): void {
    const { command } = waiting;
    if (command.kind === "register") this.#open(waiting, command);
    else if (command.kind === "start") this.#answer(waiting, notRegistered);
    else this.#answer(waiting);
  }

  #obeyKnown(kept: Kept, waiting: Waiting): void {
    const { command } = waiting;
    switch (command.kind) {
      case "register":
        this.#register(kept, waiting);
        break;
      case "start":
        this.#start(kept, waiting);
        break;
      case "stop":
        if (command.mode !== "hard" && kept.phase === "open" && kept.isStarted) {
          this.#drain(kept, command.mode === "suspend");
          this.#answer(waiting);
        } else this.#close(kept, waiting);
        break;
      case "unregister":
        kept.isForgotten = true;
        this.#close(kept, waiting);
        break;
    }
  }

  #register(kept: Kept, waiting: Waiting): void {
    const { command } = waiting;
    if (command.epoch === kept.run.epoch && !kept.isForgotten) {
      const isUnderWay = kept.phase === "opening" || kept.phase === "closing";
      if (isUnderWay) kept.waiting.push(waiting);
      else this.#answer(waiting);
      return;
    }
    this.#supersede(kept);
    kept.next = waiting;
    kept.isForgotten = true;
    this.#close(kept, undefined);
  }

  #start(kept: Kept, waiting: Waiting): void {
    const isThis = waiting.command.epoch === kept.run.epoch && !kept.isForgotten;
    if (!isThis || kept.phase === "closing" || kept.phase === "closed") {
      this.#answer(waiting, notRegistered);
    } else if (kept.phase === "opening") kept.waiting.push(waiting);
    else {
      this.#startNow(kept);
      this.#answer(waiting);
    }
  }

  #startNow(kept: Kept): void {
    if (kept.isStarted) return;
    kept.isStarted = true;
    this.#effects.push({ kind: "start", run: kept.run });
    this.#set(kept, (report) => (report.state === "REGISTERED" ? "RUNNING" : report.state));
  }

  #drain(kept: Kept, suspend: boolean): void {
    if (kept.isDraining) return;
    kept.isDraining = true;
    this.#effects.push({ kind: "drain", run: kept.run, suspend });
  }

  #open(waiting: Waiting, { query, epoch, fragments, restore }: Register): void {
    const count = this.#kept.values().reduce((sum, kept) => sum + kept.fragments.size, 0);
    if (count + fragments.length > fragmentsMax) {
      const message = `this worker has ${count} fragments already`;
      this.#answer(waiting, { code: "overloaded", message });
      return;
    }
    const run = { query, epoch };
    const names = fragments.map(({ fragment }: FragmentSpec) => fragment);
    const registered = (fragment: string): FragmentReport => ({
      ...{ fragment, epoch, state: "REGISTERED", error: undefined },
    });
    this.#kept.set(query, {
      run,
      book: new CheckpointBook(restore),
      // They become facts when they are open.
      fragments: new Map(names.map((name) => [name, registered(name)])),
      phase: "opening",
      isStarted: false,
      isDraining: false,
      isForgotten: false,
      next: undefined,
      waiting: [waiting],
      failures: [],
      session: undefined,
    });
    this.#effects.push({ kind: "deploy", run, specs: fragments, restore });
  }

  /** What was to follow does not any more. */
  #supersede(kept: Kept): void {
    if (kept.next !== undefined) this.#answer(kept.next, superseded);
    kept.next = undefined;
  }

  /** Stops what there is; `waiting` is answered when nothing is left. */
  #close(kept: Kept, waiting: Waiting | undefined): void {
    if (waiting !== undefined) {
      this.#supersede(kept);
      kept.waiting.push(waiting);
    }
    if (kept.phase === "open") this.#stop(kept);
    if (kept.phase === "closed") this.#closed(kept);
  }

  #stop(kept: Kept): void {
    kept.phase = "closing";
    this.#effects.push({ kind: "stop", run: kept.run });
  }

  #hear(kept: Kept, event: Exclude<KeeperEvent, { readonly kind: "command" }>): void {
    switch (event.kind) {
      case "deployed":
        if (kept.phase === "opening") this.#opened(kept);
        break;
      case "deployFailed":
        if (kept.phase === "opening") this.#notOpened(kept, event.error);
        break;
      case "stopped":
        if (kept.phase === "closing") this.#closed(kept);
        break;
      case "acknowledged":
        if (kept.phase === "open") {
          this.#store(kept, kept.book.acknowledged(event.checkpoint, event.state));
        }
        break;
      case "ended":
        if (kept.phase !== "open") break;
        this.#store(kept, kept.book.ended(event.state));
        this.#set(kept, ({ fragment, state }) => {
          if (fragment !== event.state.fragment) return state;
          return kept.isDraining ? "STOPPED" : "TERMINATED";
        });
        this.#tellAll(kept);
        break;
      case "failed":
        if (kept.phase === "open") this.#failed(kept, event.error);
        break;
      case "stored":
        this.#say(kept, kept.book.stored(event.checkpoint, event.state));
        break;
      case "waited":
        if (kept.phase === "open") this.#stop(kept);
        break;
    }
  }

  #opened(kept: Kept): void {
    kept.phase = "open";
    const stops = kept.waiting.some(({ command }) => isStop(command));
    if (kept.isForgotten || stops) {
      const early = kept.waiting.filter(({ command }) => !isStop(command));
      kept.waiting = kept.waiting.filter(({ command }) => isStop(command));
      for (const each of early) this.#answer(each, superseded);
      this.#stop(kept);
      return;
    }
    for (const report of kept.fragments.values()) this.#tell(kept, report);
    const waiting = kept.waiting.splice(0);
    if (waiting.some(({ command }) => command.kind === "start")) this.#startNow(kept);
    for (const each of waiting) this.#answer(each);
  }

  /** Nothing of it is left open, so it was never here. */
  #notOpened(kept: Kept, error: FragmentError): void {
    this.#kept.delete(kept.run.query);
    for (const each of kept.waiting.splice(0)) {
      if (isStop(each.command)) this.#answer(each);
      else this.#answer(each, error);
    }
    this.#follow(kept);
  }

  /** All fragments here end with the first, since their query has to be deployed anew. */
  #failed(kept: Kept, error: FragmentError): void {
    kept.failures.push(error);
    if (error.number !== brokenEdge) this.#stop(kept);
    else if (kept.failures.length === 1) {
      this.#effects.push({ kind: "wait", run: kept.run, ms: causeMsMax });
    }
  }

  #closed(kept: Kept): void {
    kept.phase = "closed";
    const { failures } = kept;
    const cause = failures.find(({ number }) => number !== brokenEdge) ?? failures[0];
    if (kept.isForgotten) {
      for (const name of kept.fragments.keys()) {
        this.#effects.push({ kind: "unsetFact", key: factKeyOf(kept.run.query, name) });
      }
      kept.fragments.clear();
      this.#kept.delete(kept.run.query);
    } else {
      // One that has ended may have a last state that could not be stored.
      this.#set(
        kept,
        (report) => {
          if (cause !== undefined) return "FAILED";
          return isLive(report) ? "STOPPED" : report.state;
        },
        cause,
      );
      if (kept.waiting.length === 0) this.#tellAll(kept);
    }
    for (const each of kept.waiting.splice(0)) this.#answer(each);
    if (kept.isForgotten) this.#follow(kept);
  }

  #follow({ next }: Kept): void {
    if (next?.command.kind === "register") this.#open(next, next.command);
  }

  #checkpoint(
    kept: Kept,
    session: string,
    command: Extract<StreamCommand, { readonly checkpoint: number }>,
  ): void {
    const { run, book } = kept;
    const completed =
      command.kind === "checkpointComplete" ? command.checkpoint : command.completed;
    if (book.complete(completed)) {
      this.#effects.push({ kind: "completed", run, checkpoint: completed });
    }
    if (command.kind === "checkpointComplete" || kept.phase !== "open" || !kept.isStarted) return;
    kept.session = session;
    const { checkpoint } = command;
    const { isNew, say, store } = book.trigger(checkpoint);
    if (isNew) this.#effects.push({ kind: "trigger", run, checkpoint });
    this.#store(kept, store);
    this.#say(kept, say);
  }

  #store({ run }: Kept, all: readonly ToStore[]): void {
    for (const each of all) this.#effects.push({ kind: "store", run, ...each });
  }

  #say({ run, session }: Kept, all: readonly ToSay[]): void {
    if (session === undefined) return;
    for (const each of all) this.#effects.push({ kind: "checkpointed", session, run, ...each });
  }

  /** Changes the states of the fragments, and the facts that say so. */
  #set(
    kept: Kept,
    stateOf: (report: FragmentReport) => FragmentReport["state"],
    error?: FragmentError,
  ): void {
    for (const [name, report] of kept.fragments) {
      const state = stateOf(report);
      if (state === report.state) continue;
      const next = { ...report, state, error };
      kept.fragments.set(name, next);
      this.#tell(kept, next);
    }
  }

  #tellAll({ run, fragments }: Kept): void {
    this.#effects.push({ kind: "tell", run, fragments: [...fragments.values()] });
  }

  #tell({ run }: Kept, report: FragmentReport): void {
    const key = factKeyOf(run.query, report.fragment);
    this.#effects.push({ kind: "setFact", key, value: factTextOf(report) });
  }

  #answer(
    { session, command }: Waiting,
    error?: Pick<FragmentError, "code" | "message"> & Partial<FragmentError>,
  ): void {
    const { query, epoch } = command;
    const known = this.#kept.get(query);
    const isHidden = known === undefined || known.phase === "opening";
    const answer = {
      ...{ query, epoch, command: command.command },
      error: error && { number: undefined, retry: "backoff" as const, ...error },
      fragments: isHidden ? [] : [...known.fragments.values()],
    };
    this.#effects.push({ kind: "answer", session, answer });
  }
}

const notRegistered = {
  code: "not_registered",
  message: "this worker has no fragments of this epoch of the query",
};
const superseded = { code: "superseded", message: "another command came before it was done" };

function isStop(command: Numbered): boolean {
  return command.kind === "stop" || command.kind === "unregister";
}

function isLive({ state }: FragmentReport): boolean {
  return state === "REGISTERED" || state === "RUNNING";
}

function isOver(kept: Kept): boolean {
  return (
    kept.phase === "closed" || (kept.phase === "open" && ![...kept.fragments.values()].some(isLive))
  );
}
