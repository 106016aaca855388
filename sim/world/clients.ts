/**
 * Clients: each asks one controller one query, and checks what it gets.
 *
 *   I8  A query ends, with exactly the right result or with an error that what happened explains.
 */
import { OperatingError } from "../../src/kernel/errors.ts";
import type { LeafId, QueryId, WorkId } from "../../src/kernel/ids.ts";
import type { Prng } from "../../src/kernel/prng.ts";
import type { LocalArtifact } from "../../src/queries/core/index.ts";
import { type WorkSpec, workKeyText } from "../../src/workcoord/core/index.ts";
import type { Counters } from "../checks/counters.ts";
import type { Verdict } from "../checks/verdict.ts";
import type { Life } from "../engine/life.ts";
import type { PlannedWork } from "../plan.ts";
import type { ControllerHost } from "./controller-host.ts";
import type { SimDisk } from "./disk.ts";
import { contentOf, formatWorkBody } from "./work-body.ts";

export interface Question {
  readonly works: readonly PlannedWork[];
  readonly deadlineMs: number;
  readonly cancelAfterMs: number;
  /** Asked after everything healed: only the right result will do. */
  readonly mustSucceed: boolean;
}

interface OpenQuery {
  readonly queryId: QueryId;
  readonly works: readonly WorkSpec[];
  readonly question: Question;
  readonly host: ControllerHost;
  readonly life: Life;
  readonly disk: SimDisk;
  askedMs: number;
  othersRunning: number;
  readonly committed: Set<string>;
  cancelled: boolean;
}

/** A deadline is kept to within this, by a process that runs. */
const deadlineSlackMs = 1_000;

export class Clients {
  readonly #verdict: Verdict;
  readonly #counters: Counters;
  readonly #nowMs: () => number;
  readonly #prng: Prng;
  readonly #queriesMax: number;
  readonly #open = new Map<QueryId, OpenQuery>();
  /** How often each work item was sent to a worker. */
  readonly #sends = new Map<string, number>();
  #count = 0;

  constructor(
    verdict: Verdict,
    counters: Counters,
    nowMs: () => number,
    prng: Prng,
    queriesMax: number,
  ) {
    this.#verdict = verdict;
    this.#counters = counters;
    this.#nowMs = nowMs;
    this.#prng = prng;
    this.#queriesMax = queriesMax;
  }

  get openCount(): number {
    return this.#open.size;
  }

  /** The life that asked for the work; `undefined`: its query has ended, one way or another. */
  ownerOf(queryId: QueryId): ControllerHost | undefined {
    const query = this.#open.get(queryId);
    return query !== undefined && query.host.life === query.life ? query.host : undefined;
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
      works: question.works.map((work, index) => this.#specOf(queryId, work, index)),
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
      const request = {
        queryId,
        works: query.works,
        deadlineMs: question.deadlineMs,
        onCommitted: (work: WorkSpec) => this.#committed(query, work),
      };
      void this.#run(query, node.manager.run(request, gaveUp.signal));
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
      kind: "sim",
      body: formatWorkBody({ value: this.#prng.below(1_000_000), runMs, fate }),
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

  async #run(query: OpenQuery, result: Promise<readonly LocalArtifact[]>): Promise<void> {
    try {
      const artifacts = await result;
      this.#check(query, artifacts);
      for (const artifact of artifacts) await artifact.dispose();
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
      const content = disk.read(artifacts[index]?.path ?? "");
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
    this.#verdict.require(!question.mustSucceed, "I13", () => {
      return `${queryId}, asked after everything healed, failed: ${thrown.code} ${thrown.message}`;
    });
    this.#verdict.require(this.#isExplained(query, thrown), "I8", () => {
      return `${queryId} failed without cause: ${thrown.code} ${thrown.message}`;
    });
  }

  #isExplained(query: OpenQuery, { code, message }: OperatingError): boolean {
    const { works, question, host, askedMs } = query;
    const fates = question.works.map(({ fate }) => fate);
    const sendsMax = Math.max(...works.map((work) => this.#sends.get(workKeyText(work)) ?? 0));
    switch (code) {
      case "cancelled":
        return query.cancelled;
      case "not_leader":
        return message.includes("lost its lease");
      case "deadline_exceeded":
        // Clocks drift by a thousandth, and timers count whole milliseconds.
        return this.#nowMs() - askedMs >= question.deadlineMs * 0.998 - 1;
      case "bad_sql":
        return fates.includes("fails");
      case "work_poisonous":
        return sendsMax >= 2;
      case "disk_full":
      case "query_failed":
        return sendsMax >= 8;
      case "overloaded":
        return query.othersRunning >= this.#queriesMax;
      case "shutting_down":
        return host.isStopping;
      default:
        return false;
    }
  }
}
