/** Clients: each asks one controller one query, and checks the answer (I8). */
import { OperatingError } from "../../src/ground/kernel/errors.ts";
import type { LeafId, QueryId, WorkId } from "../../src/ground/kernel/ids.ts";
import type { Prng } from "../../src/ground/kernel/prng.ts";
import {
  type ApiWorkManager,
  artifactOf,
  type LocalArtifact,
  type WorkSpec,
  workKeyText,
} from "../../src/ground/work/core/index.ts";
import type { Counters } from "../checks/counters.ts";
import type { Verdict } from "../checks/verdict.ts";
import type { Life } from "../engine/life.ts";
import type { PlannedPromql, PlannedWork } from "../plan.ts";
import { PromqlRun } from "../promql/promql-run.ts";
import type { SimLake } from "../promql/sim-lake.ts";
import type { Seams } from "../seams.ts";
import type { ControllerHost } from "./controller-host.ts";
import type { SimDisk } from "./disk.ts";
import { contentOf, formatWorkBody, opaqueWorkKind } from "./work-body.ts";

export interface Question {
  /** Opaque works, or a PromQL query. */
  readonly asks: readonly PlannedWork[] | PlannedPromql;
  readonly deadlineMs: number;
  readonly cancelAfterMs: number;
  /** Asked after healing: only the right result is accepted. */
  readonly mustSucceed: boolean;
}

export interface ClientsOptions {
  readonly verdict: Verdict;
  readonly counters: Counters;
  readonly nowMs: () => number;
  readonly prng: Prng;
  readonly queriesMax: number;
  readonly lake: SimLake;
  readonly seams: Seams;
  /** Called when a controller has told a span of a PromQL query. */
  readonly spanTold: (life: Life, isLast: boolean) => void;
}

interface OpenQuery {
  readonly queryId: QueryId;
  works: readonly WorkSpec[];
  readonly question: Question;
  readonly host: ControllerHost;
  readonly life: Life;
  readonly disk: SimDisk;
  askedMs: number;
  othersRunning: number;
  readonly committed: Set<string>;
  cancelled: boolean;
}

/** A running process keeps a deadline to within this. */
const deadlineSlackMs = 1_000;

/** The pause between two tries of a query that must succeed. */
const againMs = 500;

export class Clients {
  readonly #options: ClientsOptions;
  readonly #verdict: Verdict;
  readonly #counters: Counters;
  readonly #nowMs: () => number;
  readonly #open = new Map<QueryId, OpenQuery>();
  /** How often each work item was sent to a worker. */
  readonly #sends = new Map<string, number>();
  /** How long leaves take. A work outlives its query when its cancellation is late. */
  readonly #leafRunMs = new Map<string, number>();
  #count = 0;

  constructor(options: ClientsOptions) {
    this.#options = options;
    this.#verdict = options.verdict;
    this.#counters = options.counters;
    this.#nowMs = options.nowMs;
  }

  get openCount(): number {
    return this.#open.size;
  }

  /** The life that asked for the work; undefined when its query has ended. */
  ownerOf(queryId: QueryId): ControllerHost | undefined {
    const query = this.#open.get(queryId);
    return query !== undefined && query.host.life === query.life ? query.host : undefined;
  }

  /** The run time of a leaf of a PromQL query. */
  runMsOf(work: WorkSpec): number {
    return this.#leafRunMs.get(workKeyText(work)) ?? 0;
  }

  workSent(keyText: string): void {
    this.#sends.set(keyText, (this.#sends.get(keyText) ?? 0) + 1);
  }

  ask(host: ControllerHost, question: Question): void {
    const { life, node } = host;
    if (life === undefined || node === undefined) return;
    this.#count += 1;
    const queryId = `q-${this.#count}` as QueryId;
    const query: OpenQuery = {
      queryId,
      works: [],
      question,
      host,
      life,
      disk: host.disk,
      askedMs: this.#nowMs(),
      othersRunning: 0,
      committed: new Set(),
      cancelled: false,
    };
    this.#open.set(queryId, query);
    this.#counters.add("query");
    life.receive(() => {
      // It may have slept, and lost the lease over it, since the client chose it.
      if (!host.serves) {
        this.#open.delete(queryId);
        this.#counters.add("outcome: not_leader");
        return;
      }
      query.askedMs = this.#nowMs();
      query.othersRunning = node.manager.counts().running;
      const gaveUp = new AbortController();
      if (question.cancelAfterMs > 0) {
        life.after(question.cancelAfterMs, () => {
          query.cancelled = true;
          gaveUp.abort();
        });
      }
      void this.#follow(query, this.#run(query, node.manager, gaveUp.signal));
    });
  }

  /** The process that held these queries is gone, and its clients see their connections break. */
  lifeEnded(life: Life): void {
    for (const [queryId, query] of this.#open) {
      if (query.life !== life) continue;
      this.#open.delete(queryId);
      this.#counters.add("outcome: controller died");
    }
  }

  /** Every query has a deadline, and no running controller lets one pass it. */
  sweep(nowMs: number): void {
    for (const { life, askedMs, question, queryId } of this.#open.values()) {
      if (!life.isUp) continue;
      const dueMs = Math.max(askedMs + question.deadlineMs, life.runningSinceMs) + deadlineSlackMs;
      this.#verdict.require(nowMs <= dueMs, "I8", () => `${queryId} has passed its deadline`);
    }
  }

  #specOf(queryId: QueryId, { runMs, fate, affinity }: PlannedWork, index: number): WorkSpec {
    return {
      queryId,
      leafId: "leaf" as LeafId,
      workId: `w${index}` as WorkId,
      kind: opaqueWorkKind,
      body: formatWorkBody({ value: this.#options.prng.below(1_000_000), runMs, fate }),
      affinityKey: `segment-${affinity}`,
    };
  }

  #committed(query: OpenQuery, work: WorkSpec): void {
    const keyText = workKeyText(work);
    this.#verdict.require(!query.committed.has(keyText), "I4", () => {
      return `${query.queryId} was given ${keyText} twice`;
    });
    query.committed.add(keyText);
  }

  #run(query: OpenQuery, manager: ApiWorkManager, signal: AbortSignal): Promise<void> {
    const { asks } = query.question;
    return "text" in asks
      ? this.#runPromql(query, asks, manager, signal)
      : this.#runWorks(query, asks, manager, signal);
  }

  async #runWorks(
    query: OpenQuery,
    asks: readonly PlannedWork[],
    manager: ApiWorkManager,
    signal: AbortSignal,
  ): Promise<void> {
    const { queryId, question } = query;
    query.works = asks.map((work, index) => this.#specOf(queryId, work, index));
    const request = {
      queryId,
      works: query.works,
      deadlineMs: question.deadlineMs,
      onCommitted: (work: WorkSpec) => this.#committed(query, work),
    };
    const artifacts = (await manager.run(request, signal)).map(artifactOf);
    this.#check(query, artifacts);
    for (const artifact of artifacts) await artifact.dispose();
  }

  /** What it answers is checked where it is told: I16, I17. */
  async #runPromql(
    query: OpenQuery,
    asked: PlannedPromql,
    manager: ApiWorkManager,
    signal: AbortSignal,
  ): Promise<void> {
    const { queryId, life, disk, question } = query;
    const { lake, prng, seams, verdict, counters, spanTold } = this.#options;
    counters.add("promql: query");
    const run = new PromqlRun({
      ...{ queryId, asked, lake, manager, life, disk, prng, seams, verdict, counters },
      spanTold: (isLast) => spanTold(life, isLast),
    });
    query.works = run.works;
    for (const [index, work] of run.works.entries()) {
      this.#leafRunMs.set(workKeyText(work), asked.runMs[index % asked.runMs.length] ?? 0);
    }
    await run.run(question.deadlineMs, (work) => this.#committed(query, work), signal);
    counters.add("outcome: right result");
  }

  async #follow(query: OpenQuery, answered: Promise<void>): Promise<void> {
    try {
      await answered;
    } catch (thrown) {
      this.#explain(query, thrown);
    } finally {
      this.#open.delete(query.queryId);
    }
  }

  #check({ queryId, works, disk }: OpenQuery, artifacts: readonly LocalArtifact[]): void {
    this.#counters.add("outcome: right result");
    this.#verdict.require(artifacts.length === works.length, "I8", () => {
      return `${queryId} got ${artifacts.length} artifacts for ${works.length} works`;
    });
    works.forEach((work, index) => {
      const bytes = disk.read(String(artifacts[index]?.content));
      const content = bytes === undefined ? undefined : Buffer.from(bytes).toString("latin1");
      this.#verdict.require(content === contentOf(work), "I8", () => {
        return `${workKeyText(work)} gave "${content}" and not "${contentOf(work)}"`;
      });
    });
  }

  #explain(query: OpenQuery, thrown: unknown): void {
    const { queryId, question } = query;
    if (!(thrown instanceof OperatingError)) {
      this.#verdict.fail(
        "I14",
        `${queryId} threw ${thrown instanceof Error ? thrown.stack : thrown}`,
      );
      return;
    }
    this.#counters.add(`outcome: ${thrown.code}`);
    if (question.mustSucceed && this.#askAgain(query, thrown)) return;
    this.#verdict.require(!question.mustSucceed, "I13", () => {
      return `${queryId}, asked after everything healed, failed: ${thrown.code} ${thrown.message}`;
    });
    this.#verdict.require(this.#isExplained(query, thrown), "I8", () => {
      return `${queryId} failed without cause: ${thrown.code} ${thrown.message}`;
    });
  }

  /**
   * A full controller refuses, and says that trying again helps: so the question is asked again, as
   * a person would, and must be answered in what is left of its time. What is under way (upkeep,
   * statements that change tables) ends by itself.
   */
  #askAgain(query: OpenQuery, thrown: OperatingError): boolean {
    const { question, host, life } = query;
    const deadlineMs = question.deadlineMs - againMs;
    if (thrown.code !== "overloaded" || thrown.retry !== "backoff" || deadlineMs <= 0) return false;
    if (!this.#isExplained(query, thrown)) return false;
    life.after(againMs, () => this.ask(host, { ...question, deadlineMs }));
    return true;
  }

  #isExplained(query: OpenQuery, { code, message }: OperatingError): boolean {
    const { works, question, host, askedMs } = query;
    const fates = "text" in question.asks ? [] : question.asks.map(({ fate }) => fate);
    const sendsMax = Math.max(...works.map((work) => this.#sends.get(workKeyText(work)) ?? 0));
    switch (code) {
      case "cancelled":
        return query.cancelled;
      case "not_leader":
        return message.includes("lost its lease");
      case "deadline_exceeded":
        // Clocks drift by a thousandth, and timers count whole milliseconds.
        return this.#nowMs() - askedMs >= question.deadlineMs * 0.998 - 1;
      case "bad_request":
        return fates.includes("fails");
      case "work_poisonous":
        return sendsMax >= 2;
      case "disk_full":
      case "query_failed":
        return sendsMax >= 8;
      case "overloaded":
        return query.othersRunning >= this.#options.queriesMax;
      case "shutting_down":
        return host.isStopping;
      default:
        return false;
    }
  }
}
