/**
 * What comes after a run's end, in the background: percentiles of the lake's records, and the
 * server's own figures. Rules: AM1 and AM2.
 */

import { type Clock, sleep } from "../../../ground/kernel/clock.ts";
import { AssertionError, messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import { KeyedQueue } from "../../../ground/reconcile/index.ts";
import type { LeaseGrant } from "../../../ground/store/index.ts";
import { beginEnrichment, decideEnrichment } from "../core/decide-enrichment.ts";
import type { FinalRecord } from "../core/final-record.ts";
import type { RunId } from "../core/ids.ts";
import { ownStatements, statementsNotFound } from "../core/own-statements.ts";
import type { RunRecord } from "../core/run-record.ts";
import type { StatementFigures, Target } from "../core/target.ts";
import { readFigures } from "../store/final-record.ts";
import {
  type EnrichmentResult,
  replacePercentiles,
  runsToEnrich,
  writeEnrichment,
} from "../store/finalize-run.ts";
import { queryTagOf } from "../store/result-rows.ts";
import type { RunStore } from "../store/run-store.ts";
import { openRunTarget, type RunRecords, statementsSince, type TargetFactory } from "./ports.ts";

export interface AftermathParts {
  readonly runs: RunStore;
  readonly records: RunRecords;
  readonly openTarget: TargetFactory;
  readonly clusterToken: string;
  readonly lease: () => LeaseGrant | undefined;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
}

const resyncMs = 10_000;

export class RunAftermath {
  readonly #parts: AftermathParts;
  /** Work that is unfinished when the lease is lost is left to the next leader. */
  readonly queue: KeyedQueue<RunId>;

  constructor(parts: AftermathParts) {
    this.#parts = parts;
    const { runs, clock, prng, logger, lease } = parts;
    this.queue = new KeyedQueue<RunId>({
      clock,
      prng,
      logger,
      lease,
      keys: () => runsToEnrich(runs.store), // AM1
      resyncMs,
      concurrency: 100,
      reconcile: (runId, signal) => this.#process(runId, signal),
      trouble: "cannot see to what comes after a run",
    });
  }

  async #process(runId: RunId, signal: AbortSignal): Promise<void> {
    const { runs, logger } = this.#parts;
    try {
      const look = await runs.look(runId);
      if (look === undefined) return;
      await this.#percentiles(runId, signal);
      if (!signal.aborted) await this.#enrich(look.run, signal);
    } catch (thrown) {
      if (thrown instanceof AssertionError) throw thrown;
      if (isOurs(thrown)) throw thrown; // The enrichment stays pending, and is tried again.
      logger.warn({ run_id: runId }, `what comes after a run: ${messageOf(thrown)}`);
      if (!signal.aborted) await this.#write(runId, failed(thrown)).catch(() => undefined); // AM2
    }
  }

  async #percentiles(runId: RunId, signal: AbortSignal): Promise<void> {
    const { records, runs, logger, lease: leaseOf } = this.#parts;
    try {
      const recorded = await records.percentiles(runId, signal);
      const lease = leaseOf();
      if (recorded === undefined || lease === undefined) return;
      await replacePercentiles(runs.store, runId, recorded, lease);
    } catch (thrown) {
      if (thrown instanceof AssertionError) throw thrown;
      logger.warn({ run_id: runId }, `percentiles stay those of histograms: ${messageOf(thrown)}`);
    }
  }

  /** AM1 */
  async #enrich(run: RunRecord, signal: AbortSignal): Promise<void> {
    const { runId } = run;
    const target = await openRunTarget(run, this.#parts);
    try {
      const mode = target.capabilities.enrichment;
      if (mode === "none") await this.#write(runId, { status: "SKIPPED" });
      else if (mode === "aggregate") await this.#aggregate(run, target, signal);
      else await this.#perQuery(run, target, signal);
    } finally {
      await target.close().catch(() => undefined);
    }
  }

  async #aggregate(run: RunRecord, target: Target, signal: AbortSignal): Promise<void> {
    const { runId, scenario } = run;
    const figures = await this.#parts.runs.store.read((tx) => readFigures(tx, runId));
    const before = figures.statements_before as readonly StatementFigures[] | undefined;
    if (before === undefined) {
      await this.#write(runId, { status: "SKIPPED" });
      return;
    }
    const texts = scenario.workload.operations.flatMap((each) => each.statements);
    const noted = figures.statements_after as readonly StatementFigures[] | undefined;
    // When no coordinator noted the figures at the end, they are read now.
    const after = noted ?? ownStatements(await target.statementFigures(signal), texts);
    const statements = statementsSince(after, before);
    await this.#write(runId, { status: "AGGREGATE", statements });
    await this.#nameMissing(run, statements, figures.final);
  }

  /** AM4 */
  async #nameMissing(
    { runId, scenario }: RunRecord,
    found: readonly StatementFigures[],
    final: FinalRecord | undefined,
  ): Promise<void> {
    const ran = new Set(
      final?.operations.filter(({ ops, errors }) => ops > errors).map(({ operation }) => operation),
    );
    const texts = scenario.workload.operations
      .filter(({ name }) => ran.has(name))
      .flatMap(({ statements }) => statements);
    const missing = statementsNotFound(found, texts);
    const lease = this.#parts.lease();
    if (missing.length === 0 || lease === undefined) return;
    const shown = missing.slice(0, 5).map((text) => text.replace(/\s+/g, " ").slice(0, 200));
    const message = `the server has no figures of ${missing.length} of ${texts.length} statements: ${shown.join("; ")}`;
    await this.#parts.runs.log(runId, [{ level: "WARNING", message }], lease);
  }

  async #perQuery(run: RunRecord, target: Target, signal: AbortSignal): Promise<void> {
    const { records, clock } = this.#parts;
    const { runId, scenario } = run;
    await this.#write(runId, { status: "RUNNING" });
    let progress = beginEnrichment(clock.nowMs());
    for (;;) {
      const request = { runId, scenario, queryTag: queryTagOf(runId) };
      const { ratio, overhead } = await records.enrich(request, target, signal);
      const next = decideEnrichment(progress, ratio, clock.nowMs());
      progress = next.progress;
      const isOver = next.decision.kind === "end";
      const result = { ratio: progress.ratio, ...(overhead === undefined ? {} : { overhead }) };
      if (next.decision.kind === "end") {
        const { status } = next.decision;
        const why = status === "FAILED" ? { error: "the server told of none of the queries" } : {};
        await this.#write(runId, { status, ...result, ...why });
      }
      if (isOver || signal.aborted) return;
      await this.#write(runId, { status: "RUNNING", ...result });
      if (next.decision.kind === "poll") {
        await sleep(clock, next.decision.atMs - clock.nowMs(), signal);
      }
      if (signal.aborted) return;
    }
  }

  async #write(runId: RunId, result: EnrichmentResult): Promise<void> {
    const lease = this.#parts.lease();
    if (lease !== undefined) await writeEnrichment(this.#parts.runs.store, runId, result, lease);
  }
}

/** Whether the error is the control store's and not the target's. */
function isOurs(thrown: unknown): boolean {
  if (!(thrown instanceof OperatingError)) return false;
  return ["store_unavailable", "store_busy", "commit_unknown", "lease_lost"].includes(thrown.code);
}

function failed(thrown: unknown): EnrichmentResult {
  return { status: "FAILED", error: messageOf(thrown) };
}
