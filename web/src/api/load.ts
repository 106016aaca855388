/** Calls of the load test API. Each throws `ApiError`. */
import type {
  FindMaxStep,
  LatencySummary,
  ListedTemplate,
  LogLine,
  RunMetrics,
  RunSecond,
  RunStatus,
  RunSummary,
  ServerPoll,
  Template,
  TemplateProblem,
  TestDetail,
  TestResult,
  WorkerSecond,
} from "./gen/types.ts";
import { type ListPage, readJson, request } from "./http.ts";

export type TestPage = ListPage<TestResult>;

/** The latencies of a run or an operation, with the names of those that are only lower bounds. */
export type Latency = LatencySummary & Pick<RunSummary, "at_least">;

interface Items<T> {
  readonly items: readonly T[];
}

export interface PrepareRequest {
  readonly test_name?: string;
  readonly target_url?: string;
  readonly password?: string;
  readonly allowed_hosts?: readonly string[];
  readonly settings?: readonly string[];
  readonly load_data?: true;
}

export async function listTemplates(signal: AbortSignal): Promise<readonly ListedTemplate[]> {
  return (await readJson<Items<ListedTemplate>>("/api/templates", { signal })).items;
}

export async function readTemplate(id: string, signal: AbortSignal): Promise<Template> {
  return await readJson(templatePath(id), { signal });
}

export async function exportTemplate(id: string, signal?: AbortSignal): Promise<string> {
  const response = await request(`${templatePath(id)}/export`, { ...(signal && { signal }) });
  return await response.text();
}

export async function copyTemplate(id: string): Promise<Template> {
  return await readJson(`${templatePath(id)}/copy`, { method: "POST" });
}

export async function deleteTemplate(id: string): Promise<void> {
  await request(templatePath(id), { method: "DELETE" });
}

export async function importTemplate(yaml: string): Promise<Template> {
  const headers = { "content-type": "application/yaml" };
  return await readJson("/api/templates/import", { method: "POST", headers, body: yaml });
}

/** Refused (`conflict`) if somebody has saved after `seenMs`. */
export async function saveTemplate(
  id: string,
  document: unknown,
  seenMs: number,
): Promise<Template> {
  return await readJson(`${templatePath(id)}?seen_ms=${seenMs}`, json("PUT", document));
}

export async function validateTemplate(
  id: string,
  document: unknown,
  signal: AbortSignal,
): Promise<readonly TemplateProblem[]> {
  const path = `/api/templates/validate?template_id=${encodeURIComponent(id)}`;
  const answer = await readJson<{ readonly problems: readonly TemplateProblem[] }>(path, {
    ...json("POST", document),
    signal,
  });
  return answer.problems;
}

/** Returns the new run's id. */
export async function prepareRun(templateId: string, body: PrepareRequest): Promise<string> {
  const path = `/api/tests/from-template/${encodeURIComponent(templateId)}`;
  return (await readJson<{ readonly test_id: string }>(path, json("POST", body))).test_id;
}

export async function readTest(runId: string, signal?: AbortSignal): Promise<TestDetail> {
  return await readJson(testPath(runId), { ...(signal && { signal }) });
}

export async function changeRun(runId: string, change: "start" | "stop"): Promise<void> {
  await request(testPath(runId, `/${change}`), { method: "POST" });
}

export async function readSeconds(
  runId: string,
  afterMs: number,
  signal: AbortSignal,
): Promise<readonly RunSecond[]> {
  const path = testPath(runId, `/metrics?after_ms=${Math.max(0, Math.floor(afterMs))}`);
  return (await readJson<Items<RunSecond>>(path, { signal })).items;
}

export async function readWorkerSeconds(
  runId: string,
  workerId: string,
  afterMs: number,
  signal: AbortSignal,
): Promise<readonly WorkerSecond[]> {
  const query = new URLSearchParams({
    worker_id: workerId,
    after_ms: String(Math.max(0, Math.floor(afterMs))),
  });
  return (
    await readJson<Items<WorkerSecond>>(testPath(runId, `/worker-metrics?${query}`), { signal })
  ).items;
}

export async function readSteps(
  runId: string,
  signal: AbortSignal,
): Promise<readonly FindMaxStep[]> {
  return (await readJson<Items<FindMaxStep>>(testPath(runId, "/find-max-steps"), { signal })).items;
}

export async function readLog(
  runId: string,
  after: number,
  signal: AbortSignal,
): Promise<readonly LogLine[]> {
  const path = testPath(runId, `/logs?after=${after}&limit=10000`);
  return (await readJson<Items<LogLine>>(path, { signal })).items;
}

function templatePath(id: string): string {
  return `/api/templates/${encodeURIComponent(id)}`;
}

function json(method: string, body: unknown): RequestInit {
  return { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

export function isTerminal(status: RunStatus): boolean {
  return status === "COMPLETED" || status === "FAILED" || status === "CANCELLED";
}

/** Whether the run changes without an action of the user. */
export function isUnderWay(status: RunStatus): boolean {
  return status === "RUNNING" || status === "STOPPING" || status === "CANCELLING";
}

export function testPath(runId: string, part = ""): string {
  return `/api/tests/${encodeURIComponent(runId)}${part}`;
}

const secondsPerPage = 10_000;
const pagesMax = 10;

/** Every second of the run, however long it was. */
export async function readMetrics(runId: string, signal: AbortSignal): Promise<RunMetrics> {
  const items: RunSecond[] = [];
  let warehouse: readonly ServerPoll[] = [];
  for (let page = 0; page < pagesMax; page += 1) {
    const after = items.at(-1)?.timestamp_ms ?? 0;
    const path = testPath(runId, `/metrics?after_ms=${after}&limit=${secondsPerPage}`);
    const found = await readJson<RunMetrics>(path, { signal });
    if (page === 0) warehouse = found.warehouse;
    items.push(...found.items);
    if (found.items.length < secondsPerPage) break;
  }
  return { items, warehouse };
}

/** Prepares and starts a past run again; returns the new run's id. */
export async function rerun(runId: string): Promise<string> {
  const path = testPath(runId, "/rerun");
  const { test_id: id } = await readJson<{ readonly test_id: string }>(path, { method: "POST" });
  await changeRun(id, "start");
  return id;
}
