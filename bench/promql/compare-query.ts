/**
 * One query, asked of every system by turns: cold, then warm. Each time it is asked a step earlier.
 */
import { setTimeout } from "node:timers/promises";
import { type BenchOptions, type Judged, percentile, type Report } from "../report.ts";
import { type BenchQuery, requestPath } from "./queries.ts";
import { countPoints, firstDifference } from "./same-answer.ts";
import type { System } from "./system.ts";

const warmups = 2;

/** The first of `systems` is ours; the second, where there is one, is what it is compared with. */
export async function compareQuery(
  query: BenchQuery,
  endMs: number,
  systems: readonly System[],
  { coldTrials, repetitions, settleMs }: BenchOptions,
  report: Report,
): Promise<void> {
  const comparison = new Comparison(query, endMs, systems);
  const cold: number[][] = [];
  for (let trial = 0; trial < coldTrials; trial += 1) {
    for (const system of systems) await system.stop();
    for (const system of systems) await system.start();
    await setTimeout(settleMs);
    cold.push(await comparison.ask());
  }
  for (const system of systems) await system.start();
  for (let warmup = 0; warmup < warmups; warmup += 1) await comparison.ask();
  const warm: number[][] = [];
  for (let trial = 0; trial < repetitions; trial += 1) warm.push(await comparison.ask());
  const { points } = comparison;
  if (coldTrials > 0) tell(report, `${query.name}_cold`, cold, points, 1, undefined);
  tell(report, `${query.name}_warm`, warm, points, query.speedupMin, query.msMax);
  report.check(`${query.name}_agrees`, comparison.difference);
}

class Comparison {
  readonly #query: BenchQuery;
  readonly #endMs: number;
  readonly #systems: readonly System[];
  #repetition = 0;
  /** The number of points of the last answer. */
  points = 0;
  /** The first difference that was found. */
  difference: string | undefined;

  constructor(query: BenchQuery, endMs: number, systems: readonly System[]) {
    this.#query = query;
    this.#endMs = endMs;
    this.#systems = systems;
  }

  /** Returns each system's milliseconds until the last byte. */
  async ask(): Promise<number[]> {
    const path = requestPath(this.#query, this.#endMs, this.#repetition);
    this.#repetition += 1;
    const timesMs: number[] = [];
    const answers: string[] = [];
    for (const system of this.#systems) {
      const startedMs = performance.now();
      const body = await fetchAll(`${system.url()}${path}`);
      timesMs.push(performance.now() - startedMs);
      answers.push(body.toString("utf8"));
    }
    const [ours = "", theirs] = answers;
    this.points = countPoints(ours);
    if (Number.isNaN(this.points)) {
      this.difference ??= ours.slice(0, 300);
      timesMs[0] = Number.NaN; // A wrong answer has no time.
    } else if (theirs !== undefined) this.difference ??= firstDifference(ours, theirs);
    return timesMs;
  }
}

/** A system that does not answer counts as a wrong answer; the bench goes on. */
async function fetchAll(url: string): Promise<Buffer> {
  try {
    return Buffer.from(await (await fetch(url)).arrayBuffer());
  } catch (error) {
    return Buffer.from(JSON.stringify({ status: "error", error: String(error) }));
  }
}

function tell(
  report: Report,
  metric: string,
  rounds: readonly (readonly number[])[],
  points: number,
  speedupMin: number,
  msMax: number | undefined,
): void {
  const [ours = Number.NaN, theirs] = [0, 1].map((system) => median(rounds, system));
  const judged: Record<string, Judged> = {};
  if (theirs !== undefined) judged.ratio = { value: theirs / ours, atLeast: speedupMin };
  if (msMax !== undefined) judged.capstan_ms = { value: ours, atMost: msMax };
  const figures = { trials: rounds.length, capstan_ms: ours, prometheus_ms: theirs, points };
  report.figure(metric, judged, figures);
}

/** Undefined when there is no such system. */
function median(rounds: readonly (readonly number[])[], system: number): number | undefined {
  const timesMs = rounds.flatMap((round) => round[system] ?? []);
  return timesMs.length === 0
    ? undefined
    : percentile(
        timesMs.toSorted((a, b) => a - b),
        0.5,
      );
}
