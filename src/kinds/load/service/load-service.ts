/** Load tests as the API and the command line ask for them. Rules: AS1 to AS5. */

import { pathToFileURL } from "node:url";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { Store } from "../../../ground/store/index.ts";
import { checkScenarioSql, isFileKind } from "../core/check-target-sql.ts";
import { compareRuns, type RunComparison } from "../core/compare-runs.ts";
import type { RunId } from "../core/ids.ts";
import type { RunReport } from "../core/report/run-report.ts";
import type { RunRecord } from "../core/run-record.ts";
import type { EnrichmentStatus } from "../core/run-state.ts";
import type { RunUpdate } from "../core/run-update.ts";
import type { Scenario } from "../core/scenario.ts";
import { writeScenario } from "../core/scenario-codec.ts";
import type { StatementFigures } from "../core/target.ts";
import type { WorkerSnapshot } from "../core/worker-snapshot.ts";
import { type FinalFiguresDeps, finalFigures } from "../executions/final-figures.ts";
import { type ExecutionFilter, readExecutions } from "../executions/read-executions.ts";
import { readRunViews } from "../executions/run-views.ts";
import type { TargetFactory } from "../orchestrator/ports.ts";
import { runDataSql } from "../orchestrator/run-data-sql.ts";
import type { RunOrchestrator } from "../orchestrator/run-orchestrator.ts";
import { passwordOf } from "../orchestrator/seal.ts";
import { readFigures } from "../store/final-record.ts";
import { listRuns, type RunFilter } from "../store/run-history.ts";
import { readLogs } from "../store/run-logs.ts";
import type { PoolSource } from "../store/run-pools.ts";
import { readRun } from "../store/run-rows.ts";
import { filePathOf } from "../targets/parse-file-url.ts";
import type { TargetFiles } from "../targets/target-files.ts";
import { withSettings, withTarget } from "../templates/change-template.ts";
import type { TemplateDocument } from "../templates/document.ts";
import { parseTemplate } from "../templates/parse-template.ts";
import { resolveScenario } from "../templates/resolve.ts";
import type { TemplateStore } from "../templates/store/template-store.ts";
import { checkPool } from "../templates/store/value-pools.ts";
import { checkPasswordEnv } from "./password-env.ts";
import { comparedRun, readReport } from "./read-report.ts";
import {
  readPolls,
  readResults,
  readSecondRows,
  readStepRows,
  readWorkerRows,
  resultBody,
} from "./read-test.ts";

export interface LoadServiceOptions {
  readonly store: Store;
  readonly templates: TemplateStore;
  readonly orchestrator: RunOrchestrator;
  readonly openTarget: TargetFactory;
  readonly executions: FinalFiguresDeps;
  readonly clusterToken: string;
  readonly files: TargetFiles;
  /**
   * Names of environment variables, besides LOAD_TARGET_…, that a template may send to its target.
   */
  readonly passwordEnvs: readonly string[];
  /** Runs `change` if this process leads; otherwise fails, naming the leader. */
  readonly asLeader: <T>(change: () => Promise<T>) => Promise<T>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Each given field replaces the template's. */
export interface RunRequest {
  readonly testName?: string | undefined;
  readonly targetUrl?: string | undefined;
  readonly allowedHosts?: readonly string[] | undefined;
  /** For example `duration=30`. */
  readonly settings?: readonly string[] | undefined;
  readonly password?: string | undefined;
  /** Load the template's data first. */
  readonly loadData?: boolean | undefined;
  /** Reset the data before the start; replaces the template's setting. */
  readonly resetData?: boolean | undefined;
}

export class LoadService {
  readonly templates: TemplateStore;
  readonly #options: LoadServiceOptions;

  constructor(options: LoadServiceOptions) {
    this.#options = options;
    this.templates = options.templates;
  }

  /** Returns the new run's id. */
  async prepareFromTemplate(
    templateId: string,
    request: RunRequest,
    signal: AbortSignal,
  ): Promise<RunId> {
    const found = await this.templates.get(templateId);
    if (found === undefined) throw notFound("template", templateId);
    return await this.#prepare(found.document, { kind: "template", templateId }, request, signal);
  }

  /** Prepares a run from a template that is not stored. */
  async prepareFromDocument(
    input: unknown,
    request: RunRequest,
    signal: AbortSignal,
  ): Promise<RunId> {
    const document = parseTemplate(input);
    for (const [pool, values] of Object.entries(document.pools)) checkPool(pool, values);
    return await this.#prepare(
      document,
      { kind: "values", pools: document.pools },
      request,
      signal,
    );
  }

  /** AS3 */
  async rerun(runId: RunId): Promise<RunId> {
    const { orchestrator, clusterToken } = this.#options;
    const run = await this.#run(runId);
    const { scenario, testName } = run;
    this.#checkPlace(scenario);
    const { passwordEnv: variable } = scenario.target;
    if (variable !== null) checkPasswordEnv(variable, this.#options.passwordEnvs);
    const password = passwordOf(run, clusterToken);
    return await this.#options.asLeader(() =>
      orchestrator.prepareRun({ scenario, testName, password, pools: { kind: "run", runId } }),
    );
  }

  async start(runId: RunId, signal: AbortSignal): Promise<void> {
    const { orchestrator, asLeader } = this.#options;
    await asLeader(() => orchestrator.startRun(runId, signal));
  }

  async stop(runId: RunId, initiatedBy: string): Promise<void> {
    const { orchestrator, asLeader } = this.#options;
    await asLeader(() => orchestrator.stopRun(runId, initiatedBy));
  }

  async retryEnrichment(runId: RunId): Promise<void> {
    const { orchestrator, asLeader } = this.#options;
    await asLeader(() => orchestrator.retryEnrichment(runId));
  }

  accept(snapshot: WorkerSnapshot): boolean {
    return this.#options.orchestrator.accept(snapshot);
  }

  /** The current update, with log lines after `afterLogSequence`. Throws `not_found`. */
  async update(runId: RunId, afterLogSequence: number): Promise<RunUpdate> {
    const update = await this.#options.orchestrator.update(runId, afterLogSequence);
    if (update === undefined) throw notFound("run", runId);
    return update;
  }

  /** The same for viewers that poll every second; they share a reading. */
  async watch(runId: RunId, afterLogSequence: number): Promise<RunUpdate> {
    const update = await this.#options.orchestrator.watch(runId, afterLogSequence);
    if (update === undefined) throw notFound("run", runId);
    return update;
  }

  async list(filter: RunFilter) {
    const { runs, next } = await listRuns(this.#options.store, filter);
    return { items: runs.map(resultBody), next_page_token: next ?? null };
  }

  async test(runId: RunId) {
    const { store } = this.#options;
    const [run, results, update] = await Promise.all([
      this.#run(runId),
      readResults(store, runId),
      this.update(runId, Number.MAX_SAFE_INTEGER),
    ]);
    const parent = results.find(({ test_id: id }) => id === runId);
    if (parent === undefined) throw notFound("run", runId);
    const { logs: _, ...live } = update;
    return {
      ...resultBody(parent),
      status: update.status,
      phase: update.phase,
      stop_reason: run.stopReason,
      figures: JSON.parse(parent.figures) as Record<string, unknown>,
      scenario_config: writeScenario(run.scenario),
      children: results.filter(({ test_id: id }) => id !== runId).map(resultBody),
      live,
    };
  }

  async metrics(runId: RunId, page: { readonly afterMs: number; readonly limit: number }) {
    const { store } = this.#options;
    await this.#run(runId);
    const [items, warehouse] = await Promise.all([
      readSecondRows(store, runId, page),
      readPolls(store, runId, page.limit),
    ]);
    return { items, warehouse };
  }

  async workerMetrics(
    runId: RunId,
    page: { readonly workerId?: string; readonly afterMs: number; readonly limit: number },
  ) {
    await this.#run(runId);
    return { items: await readWorkerRows(this.#options.store, runId, page) };
  }

  async findMaxSteps(runId: RunId) {
    await this.#run(runId);
    return { items: await readStepRows(this.#options.store, runId) };
  }

  async logs(runId: RunId, page: { readonly after: number; readonly limit: number }) {
    await this.#run(runId);
    const { after, limit } = page;
    return { items: await this.#options.store.read((tx) => readLogs(tx, runId, after, limit)) };
  }

  async executions(runId: RunId, filter: ExecutionFilter, signal: AbortSignal) {
    await this.#run(runId);
    return { items: await readExecutions(this.#options.executions, runId, filter, signal) };
  }

  /** Exact figures from the records, with the heat map. */
  async finalFigures(runId: RunId, signal: AbortSignal) {
    await this.#run(runId);
    return await finalFigures(this.#options.executions, runId, signal);
  }

  async views(runId: RunId, signal: AbortSignal) {
    await this.#run(runId);
    return await readRunViews(this.#options.executions, runId, signal);
  }

  async errorSummary(runId: RunId, signal: AbortSignal) {
    const figures = await this.finalFigures(runId, signal);
    return {
      total_errors: figures.failed_operations,
      errors_by_kind: figures.errors_by_kind,
      by_operation: figures.by_operation
        .filter(({ failed_operations: failed }) => failed > 0)
        .map(({ operation, query_kind, failed_operations: error_count }) => ({
          operation,
          query_kind,
          error_count,
        })),
      messages: figures.error_messages,
    };
  }

  async enrichmentStatus(runId: RunId) {
    const { store } = this.#options;
    const parent = (await readResults(store, runId)).find(({ test_id: id }) => id === runId);
    if (parent === undefined) throw notFound("run", runId);
    const { statements = [] } = await store.read((tx) => readFigures(tx, runId));
    return {
      test_id: runId,
      enrichment_status: parent.enrichment_status as EnrichmentStatus | null,
      enrichment_ratio: parent.enrichment_ratio,
      enrichment_error: parent.enrichment_error,
      app_overhead_p50_ms: parent.app_overhead_p50_ms,
      app_overhead_p95_ms: parent.app_overhead_p95_ms,
      app_overhead_p99_ms: parent.app_overhead_p99_ms,
      statements: statements as readonly StatementFigures[],
    };
  }

  async report(runId: RunId): Promise<RunReport> {
    const report = await readReport(this.#options.store, runId);
    if (report === undefined) throw notFound("run", runId);
    return report;
  }

  /** Compares each run with the first one. */
  async compare(runIds: readonly RunId[]): Promise<readonly RunComparison[]> {
    const [base, ...others] = await Promise.all(runIds.map((id) => this.report(id)));
    if (base === undefined || others.length === 0) {
      throw new OperatingError("bad_request", "never", "ids: two runs at least");
    }
    return compareRuns(comparedRun(base), others.map(comparedRun));
  }

  /** AS1 */
  async #prepare(
    document: TemplateDocument,
    pools: PoolSource,
    request: RunRequest,
    signal: AbortSignal,
  ): Promise<RunId> {
    const { orchestrator, openTarget, asLeader } = this.#options;
    const { targetUrl, settings = [], allowedHosts = [], testName, loadData } = request;
    const there = targetUrl === undefined ? document : withTarget(document, targetUrl);
    const changed = settings.length === 0 ? there : withSettings(there, settings);
    const resolved = resolveScenario(changed);
    const hosts = [...resolved.target.allowedHosts, ...allowedHosts];
    const url = fileUrl(resolved.target, this.#options.files);
    const resetData = request.resetData ?? resolved.target.resetData;
    // A given password replaces the template's environment variable.
    const passwordEnv = request.password === undefined ? resolved.target.passwordEnv : null;
    const target = { ...resolved.target, url, allowedHosts: hosts, resetData, passwordEnv };
    const scenario = { ...resolved, target };
    if (resetData && target.resetSql.length === 0) {
      const message = "reset_data: the template has no reset_sql for this target";
      throw new OperatingError("bad_request", "never", message);
    }
    this.#checkPlace(scenario);
    const password = this.#passwordOf(scenario, request.password);
    if (loadData === true) await runDataSql(openTarget, target, password, "loadSql", signal);
    const name = testName ?? scenario.templateName;
    const prepare = () =>
      asLeader(() => orchestrator.prepareRun({ scenario, testName: name, password, pools }));
    try {
      return await prepare();
    } catch (thrown) {
      const isLacking = thrown instanceof OperatingError && thrown.code === "bad_sql";
      if (!isLacking || loadData === true || scenario.target.loadSql.length === 0) throw thrown;
      if (url !== resolved.target.url && loadData === undefined) {
        await runDataSql(openTarget, target, password, "loadSql", signal); // AS4
        return await prepare();
      }
      throw new OperatingError("bad_sql", "never", thrown.message, {
        hint: "If its tables are not there yet: load_data (on the command line --load-data) makes them.",
      });
    }
  }

  /** AS2 */
  #passwordOf({ target }: Scenario, given: string | undefined): string | null {
    const name = target.passwordEnv;
    if (given !== undefined || name === null) return given ?? null;
    checkPasswordEnv(name, this.#options.passwordEnvs);
    const found = this.#options.env[name];
    if (found !== undefined) return found;
    const message = `the coordinator has no environment variable ${name}`;
    throw new OperatingError("bad_request", "never", message, {
      hint: "Set it where the coordinator is started, or give the password with the request.",
    });
  }

  /** AS5 */
  #checkPlace(scenario: Scenario): void {
    const { kind, url } = scenario.target;
    if (isFileKind(kind)) this.#options.files.resolve(filePathOf(kind, url));
    checkScenarioSql(scenario);
  }

  async #run(runId: RunId): Promise<RunRecord> {
    const run = await this.#options.store.read((tx) => readRun(tx, runId));
    if (run === undefined) throw notFound("run", runId);
    return run;
  }
}

/** AS4 */
function fileUrl({ kind, url }: Scenario["target"], files: TargetFiles): string {
  const name = /^(?:sqlite|duckdb):([\w][\w.-]*)$/.exec(url)?.[1];
  return name === undefined ? url : `${kind}://${pathToFileURL(files.pathOf(name)).pathname}`;
}

function notFound(what: string, id: string): OperatingError {
  return new OperatingError("not_found", "never", `there is no ${what} ${id}`);
}
