/** Calls of the API of load tests. Each throws `ApiError`. */
import { request } from "./http.ts";
import type {
  FindMaxStep,
  ListedTemplate,
  LoadTest,
  LogLine,
  RunSecond,
  Template,
  TemplateProblem,
  WorkerSecond,
} from "./load-types.ts";

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
  return (await read<Items<ListedTemplate>>("/api/templates", { signal })).items;
}

export async function readTemplate(id: string, signal: AbortSignal): Promise<Template> {
  return await read(templatePath(id), { signal });
}

export async function exportTemplate(id: string, signal?: AbortSignal): Promise<string> {
  const response = await request(`${templatePath(id)}/export`, { ...(signal && { signal }) });
  return await response.text();
}

export async function copyTemplate(id: string): Promise<Template> {
  return await read(`${templatePath(id)}/copy`, { method: "POST" });
}

export async function deleteTemplate(id: string): Promise<void> {
  await request(templatePath(id), { method: "DELETE" });
}

export async function importTemplate(yaml: string): Promise<Template> {
  const headers = { "content-type": "application/yaml" };
  return await read("/api/templates/import", { method: "POST", headers, body: yaml });
}

/** Refused (`conflict`) if somebody saved after `seenMs`. */
export async function saveTemplate(
  id: string,
  document: unknown,
  seenMs: number,
): Promise<Template> {
  return await read(`${templatePath(id)}?seen_ms=${seenMs}`, json("PUT", document));
}

export async function validateTemplate(
  id: string,
  document: unknown,
  signal: AbortSignal,
): Promise<readonly TemplateProblem[]> {
  const path = `/api/templates/validate?template_id=${encodeURIComponent(id)}`;
  const answer = await read<{ readonly problems: readonly TemplateProblem[] }>(path, {
    ...json("POST", document),
    signal,
  });
  return answer.problems;
}

/** The new run's id. */
export async function prepareRun(templateId: string, body: PrepareRequest): Promise<string> {
  const path = `/api/tests/from-template/${encodeURIComponent(templateId)}`;
  return (await read<{ readonly test_id: string }>(path, json("POST", body))).test_id;
}

export async function readTest(runId: string, signal?: AbortSignal): Promise<LoadTest> {
  return await read(testPath(runId), { ...(signal && { signal }) });
}

export async function changeRun(runId: string, change: "start" | "stop"): Promise<void> {
  await request(testPath(runId, change), { method: "POST" });
}

export async function readSeconds(
  runId: string,
  afterMs: number,
  signal: AbortSignal,
): Promise<readonly RunSecond[]> {
  const path = testPath(runId, `metrics?after_ms=${Math.max(0, Math.floor(afterMs))}`);
  return (await read<Items<RunSecond>>(path, { signal })).items;
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
  return (await read<Items<WorkerSecond>>(testPath(runId, `worker-metrics?${query}`), { signal }))
    .items;
}

export async function readSteps(
  runId: string,
  signal: AbortSignal,
): Promise<readonly FindMaxStep[]> {
  return (await read<Items<FindMaxStep>>(testPath(runId, "find-max-steps"), { signal })).items;
}

export async function readLog(
  runId: string,
  after: number,
  signal: AbortSignal,
): Promise<readonly LogLine[]> {
  const path = testPath(runId, `logs?after=${after}&limit=10000`);
  return (await read<Items<LogLine>>(path, { signal })).items;
}

function templatePath(id: string): string {
  return `/api/templates/${encodeURIComponent(id)}`;
}

function testPath(runId: string, rest = ""): string {
  return `/api/tests/${encodeURIComponent(runId)}${rest === "" ? "" : `/${rest}`}`;
}

function json(method: string, body: unknown): RequestInit {
  return { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

async function read<T>(path: string, init: RequestInit): Promise<T> {
  return (await (await request(path, init)).json()) as T;
}
