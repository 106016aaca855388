/**
 * The commands under way: one at a time for each query on each worker, so that what a worker
 * reports between is never taken for its outcome. A command without an answer is forgotten when
 * its session ends or its time is over, and decided anew: commands are idempotent (SD1).
 */
import type { Backoff } from "../../../../ground/kernel/backoff.ts";
import { backoffMs } from "../../../../ground/kernel/backoff.ts";
import type { FragmentError } from "./commands.ts";
import type { QueryCommand } from "./decide-query.ts";
import type { Refusal } from "./query-view.ts";

interface UnderWay extends QueryCommand {
  readonly number: number;
  readonly endMs: number;
}

interface Refused {
  readonly epoch: number;
  readonly error: FragmentError;
  readonly failures: number;
  readonly againMs: number;
}

/** Opening sources and sinks may take a while; longer than that the answer is lost. */
const answerMsMax = 60_000;
const backoff: Backoff = { minMs: 200, maxMs: 30_000 };

export class CommandDesk {
  readonly #underWay = new Map<string, UnderWay>();
  readonly #refused = new Map<string, Refused>();
  /** When each epoch was first told to stop softly. */
  readonly #draining = new Map<string, { readonly epoch: number; readonly atMs: number }>();
  #number = 0;

  /** The number of the command. */
  send(query: string, command: QueryCommand, nowMs: number): number {
    this.#number += 1;
    const key = keyOf(command.workerId, query);
    this.#underWay.set(key, { ...command, number: this.#number, endMs: nowMs + answerMsMax });
    if (isDrain(command)) this.#draining.set(key, { epoch: command.epoch, atMs: nowMs });
    return this.#number;
  }

  /** `undefined`: nobody waits for this answer any more. */
  answered(
    workerId: string,
    query: string,
    number: number,
    error: FragmentError | undefined,
    nowMs: number,
  ): QueryCommand | undefined {
    const key = keyOf(workerId, query);
    const command = this.#underWay.get(key);
    if (command?.number !== number) return undefined;
    this.#underWay.delete(key);
    if (error === undefined) {
      this.#refused.delete(key);
      if (command.kind === "unregister") this.#draining.delete(key);
    } else {
      const { epoch } = command;
      const before = this.#refused.get(key);
      const failures = (before?.epoch === epoch ? before.failures : 0) + 1;
      const againMs = nowMs + backoffMs(backoff, failures);
      this.#refused.set(key, { epoch, error, failures, againMs });
      if (isDrain(command)) this.#draining.delete(key);
    }
    return command;
  }

  isBusy(workerId: string, query: string, nowMs: number): boolean {
    const command = this.#underWay.get(keyOf(workerId, query));
    return command !== undefined && nowMs < command.endMs;
  }

  isDraining(workerId: string, query: string, epoch: number): boolean {
    return this.#draining.get(keyOf(workerId, query))?.epoch === epoch;
  }

  /** The time since a worker was first told to stop this epoch softly; 0: none was told. */
  endingMs(query: string, epoch: number, nowMs: number): number {
    const suffix = ` ${query}`;
    const times = Array.from(this.#draining, ([key, told]) =>
      key.endsWith(suffix) && told.epoch === epoch ? nowMs - told.atMs : 0,
    );
    return Math.max(0, ...times);
  }

  refusal(workerId: string, query: string, epoch: number, nowMs: number): Refusal | undefined {
    const refused = this.#refused.get(keyOf(workerId, query));
    if (refused?.epoch !== epoch) return undefined;
    return { error: refused.error, retryInMs: Math.max(0, refused.againMs - nowMs) };
  }

  /** The session of a worker ended: its commands are not known to be done or not. */
  forgetWorker(workerId: string): void {
    const prefix = keyOf(workerId, "");
    for (const map of [this.#underWay, this.#refused, this.#draining]) {
      for (const key of map.keys()) if (key.startsWith(prefix)) map.delete(key);
    }
  }

  /** Nothing of the query is wanted any more. */
  forgetQuery(query: string): void {
    const suffix = ` ${query}`;
    for (const map of [this.#underWay, this.#refused, this.#draining]) {
      for (const key of map.keys()) if (key.endsWith(suffix)) map.delete(key);
    }
  }

  clear(): void {
    for (const map of [this.#underWay, this.#refused, this.#draining]) map.clear();
  }
}

function isDrain({ kind }: QueryCommand): boolean {
  return kind === "stopSoft" || kind === "suspend";
}

function keyOf(workerId: string, query: string): string {
  return `${workerId} ${query}`;
}
